//! The command adapter: what a binding says of a program's calls, held against the contract once.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use indexmap::IndexMap;
use nack_cases::{Action, Call};
use nack_contracts::model::{Base, Type};
use nack_contracts::{Contract, Finding, Value, suggest};

use super::reply::Replies;
use super::session::CommandSession;
use super::time;
use crate::adapter::{Adapter, Setting};
use crate::binding::{Binding, CommandCall, Misfit, Placeholder, Template, argument};
use crate::clock::EPOCH;
use crate::outside::Effects;
use crate::process::Command;
use crate::session::{Session, StartError};
use crate::store::Tables;
use crate::subject::Hello;

/// The longest word of a command line that Linux takes, with the zero that ends it.
const LONGEST_WORD: usize = 128 << 10;

/// The command adapter.
#[derive(Debug)]
pub struct CommandAdapter {
    how: Arc<How>,
    tables: Tables,
    hello: Hello,
    wait: Duration,
    /// Effects that a call uses and that no downstream stands for.
    unbound: Vec<String>,
    /// Why the time of its programs cannot be kept, where they are not told it and a case may ask for it.
    untimed: Option<String>,
}

/// How a program's calls are made.
#[derive(Debug)]
pub(super) struct How {
    pub(super) calls: IndexMap<String, Bound>,
    pub(super) effects: Effects,
    pub(super) time: TimeBy,
}

/// By whom a program knows the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeBy {
    /// Every call tells it.
    Word,
    /// It looks at the system's clock, which is kept for it.
    Tracer,
    /// It looks at the system's clock.
    System,
}

impl How {
    /// Whether the program's clock is the case's.
    pub(super) fn moves_clock(&self) -> bool {
        self.time != TimeBy::System
    }
}

/// One call.
#[derive(Debug)]
pub(super) struct Bound {
    /// Where it runs; its words are not filled in.
    pub(super) command: Command,
    pub(super) words: Vec<Template>,
    pub(super) replies: Replies,
}

impl Bound {
    fn says(&self, fits: impl Fn(&Placeholder) -> bool) -> bool {
        self.words.iter().flat_map(Template::placeholders).any(fits)
    }
}

impl CommandAdapter {
    /// Reaches the program of this binding.
    ///
    /// # Errors
    /// What does not fit the contract, with its place and its mend.
    pub fn new(
        binding: &Binding,
        calls: &IndexMap<String, CommandCall>,
        tables: Tables,
        contract: &Contract,
    ) -> Result<CommandAdapter, Box<Finding>> {
        let effects = Effects::of(binding, contract)?;
        let bound =
            |(name, said): (&String, &CommandCall)| Ok((name.clone(), bind(binding, name, said, &effects, contract)?));
        let calls: IndexMap<String, Bound> = calls.iter().map(bound).collect::<Result<_, Box<Finding>>>()?;
        let used = calls.keys().flat_map(|name| &contract.calls[name].effects);
        let unbound = used.filter(|effect| effects.get(effect).is_none()).cloned().collect();
        let told = calls.values().all(|call| call.says(|said| *said == Placeholder::Now));
        // Where no step asks for it, a program is left to itself.
        let untold = !told && contract.capabilities.contains_key("clock");
        let untimed = untold.then(time::refused).flatten();
        let time = match (told, untold && untimed.is_none()) {
            (true, _) => TimeBy::Word,
            (_, true) => TimeBy::Tracer,
            _ => TimeBy::System,
        };
        let capabilities = binding.capabilities.clone().unwrap_or_default();
        let hello = Hello { name: binding.name.clone(), capabilities, checkpoints: Vec::new() };
        let how = Arc::new(How { calls, effects, time });
        Ok(CommandAdapter { how, tables, hello, wait: Duration::from_secs(binding.wait), unbound, untimed })
    }

    /// Whether bytes of any kind reach the program: in a file they do, on a command line they need not.
    fn passes_bytes(&self) -> bool {
        let has = |fits: fn(&Placeholder) -> bool| self.how.calls.values().any(|call| call.says(fits));
        has(|said| matches!(said, Placeholder::File(_))) && !has(|said| matches!(said, Placeholder::Arg(_)))
    }
}

fn bind(
    binding: &Binding,
    name: &str,
    said: &CommandCall,
    effects: &Effects,
    contract: &Contract,
) -> Result<Bound, Box<Finding>> {
    let wrong = |message: String, help: String| binding.misfit(name, message, &help);
    for placeholder in said.command.iter().flat_map(Template::placeholders) {
        if let Placeholder::Downstream(effect) = placeholder
            && effects.get(effect).is_none()
        {
            let known = suggest(effect, effects.0.iter().map(|outside| outside.name.as_str()));
            return Err(wrong(format!("{placeholder}: there is no downstream.{effect}"), known));
        }
    }
    let replies = Replies::of(said, &contract.calls[name], contract);
    let replies = replies.map_err(|Misfit { message, help }| wrong(message, help))?;
    let words = said.command.iter().map(|word| {
        let word = word.fill(|placeholder| Ok::<_, std::convert::Infallible>(placeholder.to_string().into_bytes()));
        String::from_utf8_lossy(&word.unwrap_or_default()).into_owned()
    });
    Ok(Bound { command: binding.command(words.collect()), words: said.command.clone(), replies })
}

impl Adapter for CommandAdapter {
    fn kind(&self) -> &'static str {
        "command"
    }

    fn hello(&self) -> &Hello {
        &self.hello
    }

    fn provides(&self) -> Vec<&'static str> {
        let given = [("process", true), ("http", !self.how.effects.0.is_empty())];
        let more = [("clock", self.how.moves_clock()), ("raw", self.passes_bytes())];
        given.into_iter().chain(more).filter(|(_, has)| *has).map(|(name, _)| name).collect()
    }

    fn statements(&self) -> bool {
        false
    }

    fn outside(&self) -> bool {
        true
    }

    fn answers(&self) -> IndexMap<String, IndexMap<String, usize>> {
        self.how.effects.answers()
    }

    fn not_given(&self, contract: &Contract, call: &Call) -> Option<String> {
        let Some(bound) = self.how.calls.get(&call.name) else {
            return Some(format!("the binding has no call.{}", call.name));
        };
        let spec = &contract.calls[&call.name];
        let unfit = call.args.iter().find_map(|(name, value)| {
            let inline = bound.says(|said| matches!(said, Placeholder::Arg(arg) if arg == name));
            unfit_for_a_word(&spec.args[name], value)
                .filter(|_| inline)
                .map(|why| format!("the argument `{name}` {why}, which no command line carries; {{file.{name}}} would"))
        });
        let answers = call.answers.iter().flat_map(|(effect, script)| script.all().map(move |answer| (effect, answer)));
        let unplayed = |(effect, answer): (&String, &nack_cases::Answer)| match self.how.effects.get(effect) {
            Some(outside) if !matches!(answer.does, Action::Raise { .. }) => outside.reaction(answer).err(),
            _ => None,
        };
        unfit.or_else(|| { answers }.find_map(unplayed))
    }

    fn wait(&self) -> Option<Duration> {
        Some(self.wait)
    }

    fn unseen(&self, failed: bool) -> Vec<String> {
        let silent = self.how.calls.iter().filter(|(_, call)| !call.replies.observes());
        let silent = silent.map(|(name, _)| {
            format!("what `{name}` replies is not observed, since its binding maps no word of its output: no reply of it was judged")
        });
        let never = self.how.effects.0.iter().filter(|outside| !outside.was_reached()).map(|outside| &outside.name);
        let never = never.chain(&self.unbound).filter(|_| failed);
        let never = never.map(|effect| format!("nothing ever reached `{effect}`: is downstream.{effect} bound?"));
        let untimed = self.untimed.iter().map(|why| {
            format!("no step could move the clock: a call is not told the time by {{now}}, and it cannot be kept here: {why}")
        });
        silent.chain(never).chain(untimed).collect()
    }

    fn clock_base(&self) -> i64 {
        if self.how.moves_clock() {
            return EPOCH;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn session(&self, setting: &Setting<'_>) -> Result<Box<dyn Session>, StartError> {
        Ok(Box::new(CommandSession::new(Arc::clone(&self.how), setting)?))
    }
}

/// Why an argument cannot stand on a command line, if it cannot.
fn unfit_for_a_word(ty: &Type, value: &Value) -> Option<String> {
    // Ids may be mapped, and are short in any case.
    if ty.base == Base::Id && !value.holds_bytes() && value.as_text().is_some_and(|id| !id.contains('\0')) {
        return None;
    }
    let bytes = argument(ty, value);
    if bytes.contains(&0) {
        return Some("holds a NUL".to_owned());
    }
    (bytes.len() >= LONGEST_WORD).then(|| format!("is {} bytes long", bytes.len()))
}
