//! The calls that a binding binds, held against the contract: each is one of its calls, each of its calls is bound,
//! and every argument that is put in is one of the call's.

use nack_contracts::model::Call;
use nack_contracts::{Contract, Finding, suggest};

use super::{Binding, Placeholder, Reach, Template};

impl Binding {
    /// Whether its calls are those of the contract.
    ///
    /// # Errors
    /// The first that is not, with its place and its mend.
    pub fn fits(&self, contract: &Contract) -> Result<(), Box<Finding>> {
        let bound: Vec<(&String, Vec<&Template>)> = match &self.reach {
            Reach::Stdio { .. } => return Ok(()),
            Reach::Command { calls, .. } => {
                calls.iter().map(|(name, call)| (name, call.command.iter().collect())).collect()
            }
            Reach::Http(server) => server
                .calls
                .iter()
                .map(|(name, call)| (name, [&call.path].into_iter().chain(&call.body).chain(call.headers.values())))
                .map(|(name, templates)| (name, templates.collect()))
                .collect(),
        };
        for (name, templates) in &bound {
            let Some(call) = contract.calls.get(*name) else {
                let known = suggest(name, contract.calls.keys().map(String::as_str));
                return Err(self.misfit(name, format!("{} has no call `{name}`", contract.name), &known));
            };
            templates.iter().try_for_each(|template| self.arguments(name, call, template))?;
        }
        // A call that needs what the subject does not claim is never made.
        let claims = |need: &String| self.capabilities.iter().flatten().any(|claimed| claimed == need);
        let made = contract.calls.iter().filter(|(_, call)| call.needs.iter().all(claims)).map(|(name, _)| name);
        match { made }.find(|name| bound.iter().all(|(bound, _)| bound != name)) {
            Some(name) => {
                let message = format!("the call `{name}` of {} is not bound", contract.name);
                Err(self.misfit(name, message, &format!("add call.{name}, or it can never be asked")))
            }
            None => Ok(()),
        }
    }

    fn arguments(&self, name: &str, call: &Call, template: &Template) -> Result<(), Box<Finding>> {
        let put = template.placeholders().filter_map(|placeholder| match placeholder {
            Placeholder::Arg(arg) | Placeholder::File(arg) => Some((placeholder, arg)),
            _ => None,
        });
        for (placeholder, arg) in put {
            if !call.args.contains_key(arg) {
                let known = suggest(arg, call.args.keys().map(String::as_str));
                return Err(self.misfit(name, format!("{placeholder}: `{name}` has no argument `{arg}`"), &known));
            }
        }
        Ok(())
    }

    pub(crate) fn misfit(&self, call: &str, message: String, help: &str) -> Box<Finding> {
        let key = format!("call.{call}");
        let span = self.keys.get(&key).unwrap_or(&self.span).clone();
        let at = format!("subject.{}.{key}", self.name);
        Box::new(Finding::error("binding/call", at, span, message).help(help.to_owned()))
    }
}
