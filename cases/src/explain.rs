//! A case in words: what is given, what is done, what must hold.

use nack_contracts::model::Contract;
use nack_contracts::{Map, Value};

use crate::case::{
    Action, Answer, Answers, At, Call, Case, Expected, FaultKind, Matcher, RowPattern, Rows, Step, ValueType,
};

/// The row of a decision table in words: `asked = inflight, result = accepted → next = sent`.
#[must_use]
pub fn row_words(contract: &Contract, name: &str) -> Option<String> {
    use nack_contracts::model::Output;
    let (table, row) = name.split_once('.')?;
    let table = contract.tables.get(table)?;
    let row = table.rows.iter().find(|known| known.id == row)?;
    let inputs = row.inputs.iter().enumerate().map(|(column, cell)| {
        let classes = contract.input_classes(table, column);
        let chosen: Vec<&str> = cell.classes.iter().map(|class| classes[*class]).collect();
        let all = chosen.len() == classes.len();
        format!("{} = {}", table.inputs[column], if all { "any".to_owned() } else { chosen.join(" or ") })
    });
    let outputs = table.outputs.iter().zip(&row.outputs).map(|(output, cell)| match &cell.gives {
        Output::Class(class) => format!("{output} = {}", contract.domains[output].classes[*class].name),
        Output::Error(name) => format!("error {name}"),
        Output::Nothing => format!("{output} has no meaning"),
        Output::Never(why) => format!("never: {why}"),
    });
    Some(format!("{} → {}", inputs.collect::<Vec<_>>().join(", "), outputs.collect::<Vec<_>>().join(", ")))
}

/// The given rows and the steps of a case, a line each.
#[must_use]
pub fn steps_in_words(case: &Case) -> Vec<String> {
    let mut out = Vec::new();
    for (store, rows) in case.given.iter().filter(|(_, rows)| !rows.is_empty()) {
        for row in rows.iter().take(4) {
            out.push(format!("given in {store}: {}", fields(row)));
        }
        if rows.len() > 4 {
            out.push(format!("given in {store}: {} rows in all", rows.len()));
        }
    }
    let mut last: Option<(String, usize)> = None;
    for words in case.steps.iter().flat_map(step_words) {
        match &mut last {
            Some((known, times)) if *known == words => *times += 1,
            _ => {
                out.extend(last.take().map(repeated));
                last = Some((words, 1));
            }
        }
    }
    out.extend(last.map(repeated));
    out
}

fn repeated((words, times): (String, usize)) -> String {
    if times == 1 { words } else { format!("{times} times: {words}") }
}

fn step_words(step: &Step) -> Vec<String> {
    match step {
        Step::Call(call) => vec![call_words(call)],
        Step::Parallel { calls, barrier } => {
            let meet = barrier.as_ref().map_or(String::new(), |point| format!(", meeting at {point}"));
            let mut out = vec![format!("at once{meet}:")];
            out.extend(calls.iter().map(|call| format!("  {}", call_words(call))));
            out
        }
        Step::Release { worker, reply } => {
            vec![format!("let {worker} go on{}", reply.as_ref().map_or(String::new(), reply_words))]
        }
        Step::Advance { seconds, worker: None } => vec![format!("move the clock {seconds} s")],
        Step::Advance { seconds, worker: Some(worker) } => vec![format!("move the clock of {worker} {seconds} s")],
        Step::Reconnect => vec!["end every worker without farewell and start afresh on the same store".to_owned()],
        Step::Expect(alternatives) => alternatives
            .iter()
            .enumerate()
            .flat_map(|(index, relations)| {
                let lead = if index == 0 { "expect" } else { "or" };
                relations.iter().map(move |(name, expected)| format!("{lead} {name}: {}", expected_words(expected)))
            })
            .collect(),
    }
}

fn call_words(call: &Call) -> String {
    let args: Vec<String> = call.args.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let mut out = format!("call {}({})", call.name, args.join(", "));
    if call.worker != "main" {
        out.push_str(&format!(" on worker {}", call.worker));
    }
    if let Some(seconds) = call.after {
        out.push_str(&format!(", {seconds} s later"));
    }
    for (effect, answers) in &call.answers {
        out.push_str(&format!("; {effect} {}", answers_words(answers)));
    }
    if let Some(fault) = &call.fault {
        let at = match &fault.at {
            At::Checkpoint(point) => format!("at {point}"),
            At::Everywhere => "at every point in turn".to_owned(),
            At::Nth(n) => format!("at point {n}"),
            At::Request => "once its request is sent".to_owned(),
            At::Reply => "once its answer is sent".to_owned(),
        };
        let what = match fault.by {
            FaultKind::Raise => "an error is raised".to_owned(),
            FaultKind::Kill => "it is killed".to_owned(),
            FaultKind::Hold => "it is held".to_owned(),
            FaultKind::Stop => "it is stopped".to_owned(),
            FaultKind::Storage(kind) => format!("its store becomes {kind:?}").to_lowercase(),
            FaultKind::Lost => "its caller loses the answer".to_owned(),
        };
        out.push_str(&format!("; {at} {what}"));
    }
    out + &call.reply.as_ref().map_or(String::new(), reply_words)
}

fn answers_words(answers: &Answers) -> String {
    match answers {
        Answers::InOrder(list) => format!("does {}", list.iter().map(answer_words).collect::<Vec<_>>().join(", then ")),
        Answers::ById { ids, otherwise } => {
            let mut out: Vec<String> =
                ids.iter().map(|(id, answer)| format!("{} for {id}", answer_words(answer))).collect();
            out.extend(otherwise.iter().map(|answer| format!("{} otherwise", answer_words(answer))));
            format!("does {}", out.join(", "))
        }
    }
}

fn answer_words(answer: &Answer) -> String {
    match &answer.does {
        Action::Return(value) => value.to_string(),
        Action::Raise { kind, .. } => format!("raise {kind:?}").to_lowercase(),
        Action::Net(fault) => format!("{fault:?} on the wire").to_lowercase(),
        Action::Http { status, .. } => format!("HTTP {status}"),
        Action::Signal(signal) => format!("signal {signal:?}").to_uppercase(),
        Action::Lost(value) => format!("{value}, and lose the answer"),
    }
}

fn reply_words(matcher: &Matcher) -> String {
    format!("; it must reply {}", matcher_words(matcher))
}

fn expected_words(expected: &Expected) -> String {
    let mut out = Vec::new();
    match &expected.rows {
        Some(Rows::Count(0)) => out.push("no rows".to_owned()),
        Some(Rows::Count(n)) => out.push(format!("{n} rows")),
        Some(Rows::Given) => out.push("exactly as given".to_owned()),
        Some(Rows::These(rows)) => out.push(format!("exactly {}, in this order", patterns(rows))),
        Some(Rows::Unordered(rows)) => out.push(format!("exactly {}", patterns(rows))),
        None => {}
    }
    match &expected.has {
        Some(Rows::Given) => out.push("at least what was given".to_owned()),
        Some(Rows::These(rows) | Rows::Unordered(rows)) => out.push(format!("at least {}", patterns(rows))),
        Some(Rows::Count(_)) | None => {}
    }
    if !expected.none.is_empty() {
        out.push(format!("none of {}", patterns(&expected.none)));
    }
    out.extend(expected.at_least.map(|n| format!("at least {n} rows")));
    out.extend(expected.at_most.map(|n| format!("at most {n} rows")));
    out.extend(expected.same.as_ref().map(|column| format!("one {column} in all rows")));
    out.join(", ")
}

fn patterns(rows: &[RowPattern]) -> String {
    let mut shown: Vec<String> = rows
        .iter()
        .take(4)
        .map(|row| {
            let fields: Vec<String> =
                row.iter().map(|(column, m)| format!("{column} = {}", matcher_words(m))).collect();
            format!("({})", fields.join(", "))
        })
        .collect();
    if rows.len() > 4 {
        shown.push(format!("… {} rows in all", rows.len()));
    }
    if shown.is_empty() { "no rows".to_owned() } else { shown.join(" ") }
}

fn fields(row: &Map) -> String {
    row.iter().map(|(column, value): (&String, &Value)| format!("{column} = {value}")).collect::<Vec<_>>().join(", ")
}

/// A matcher in words.
#[must_use]
pub fn matcher_words(matcher: &Matcher) -> String {
    let list = |items: &[Matcher]| items.iter().map(matcher_words).collect::<Vec<_>>().join(", ");
    match matcher {
        Matcher::Exactly(value) => value.to_string(),
        Matcher::Error(name) if name == "any" => "any error".to_owned(),
        Matcher::Error(name) => format!("error {name}"),
        Matcher::Any => "anything".to_owned(),
        Matcher::Type(ValueType::String) => "text that is not empty".to_owned(),
        Matcher::Type(ValueType::Int) => "an integer".to_owned(),
        Matcher::Type(ValueType::Bool) => "true or false".to_owned(),
        Matcher::Type(ValueType::List) => "a list".to_owned(),
        Matcher::Type(ValueType::Object) => "an object".to_owned(),
        Matcher::OneOf(some) => format!("one of {}", list(some)),
        Matcher::Not(none) => format!("none of {}", list(none)),
        Matcher::List(items) => format!("[{}]", list(items)),
        Matcher::Map(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(key, field)| format!("\"{key}\": {}", matcher_words(field))).collect();
            format!("{{{}}}", fields.join(", "))
        }
    }
}
