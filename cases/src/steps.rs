//! Reading the steps of a case once every name in them is filled in.

use indexmap::IndexMap;
use nack_contracts::model::{CALLER_POINTS, Contract};
use nack_contracts::{Fields, Finding, Kind, Map, Node, Value, plain, suggest};

use crate::case::{
    Action, Answer, Answers, At, Call, Fault, FaultKind, NetFault, RaiseKind, Signal, Step, StorageFault,
};
use crate::matchers::{broken, expected, matcher};

/// Reads one step.
pub(crate) fn step(contract: &Contract, node: &Node) -> Result<Step, Finding> {
    let fields =
        node.fields().ok_or_else(|| broken(node, format!("a step is a table, and this is {}", node.describe())))?;
    let has = |key: &str| fields.contains_key(key);
    if has("call") {
        return Ok(Step::Call(Box::new(call(contract, node, fields)?)));
    }
    if has("parallel") {
        only(fields, &["parallel", "barrier"])?;
        let Kind::List(items) = &fields["parallel"].value.kind else {
            return Err(broken(&fields["parallel"].value, "`parallel` takes a list of calls".to_owned()));
        };
        let read = |item: &Node| match item.fields() {
            Some(fields) if fields.contains_key("call") => call(contract, item, fields),
            _ => Err(broken(item, "only calls can run in parallel".to_owned())),
        };
        let calls = items.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let barrier = text(fields, "barrier")?;
        if let Some(point) = &barrier
            && let Some(call) = calls.iter().find(|call| !contract.calls[&call.name].checkpoints.contains(point))
        {
            return Err(no_checkpoint(contract, &call.name, point, &fields["barrier"].value));
        }
        return Ok(Step::Parallel { calls, barrier });
    }
    if has("release") {
        only(fields, &["release", "reply"])?;
        let worker = text(fields, "release")?.unwrap_or_default();
        return Ok(Step::Release { worker, reply: reply(fields)? });
    }
    if has("advance") {
        only(fields, &["advance", "as"])?;
        let seconds = int(fields, "advance")?.unwrap_or_default();
        return Ok(Step::Advance { seconds, worker: text(fields, "as")? });
    }
    if has("reconnect") {
        only(fields, &["reconnect"])?;
        return Ok(Step::Reconnect);
    }
    if let Some(field) = fields.get("expect") {
        only(fields, &["expect"])?;
        return Ok(Step::Expect(alternatives(contract, &field.value)?));
    }
    let message = "a step is one of call, parallel, release, advance, reconnect, expect";
    Err(broken(node, message.to_owned()))
}

fn alternatives(contract: &Contract, node: &Node) -> Result<Vec<IndexMap<String, crate::case::Expected>>, Finding> {
    let fields = node.fields().ok_or_else(|| broken(node, "`expect` is a table of relations".to_owned()))?;
    if let Some(any_of) = fields.get("any_of") {
        only(fields, &["any_of"])?;
        let Kind::List(items) = &any_of.value.kind else {
            return Err(broken(&any_of.value, "`any_of` takes a list".to_owned()));
        };
        if items.is_empty() {
            return Err(broken(&any_of.value, "`any_of` lists at least one alternative".to_owned()));
        }
        return items.iter().map(|item| relations(contract, item)).collect();
    }
    Ok(vec![relations(contract, node)?])
}

fn relations(contract: &Contract, node: &Node) -> Result<IndexMap<String, crate::case::Expected>, Finding> {
    let fields = node.fields().ok_or_else(|| broken(node, "this must be a table of relations".to_owned()))?;
    let mut out = IndexMap::new();
    for (name, field) in fields {
        let place = Node::new(Kind::Absent, field.key.clone());
        out.insert(name.clone(), expected(contract, name, &place, &field.value)?);
    }
    Ok(out)
}

fn call(contract: &Contract, node: &Node, fields: &Fields) -> Result<Call, Finding> {
    only(fields, &["call", "args", "as", "answers", "reply", "fault", "after"])?;
    let name = text(fields, "call")?.unwrap_or_default();
    let Some(spec) = contract.calls.get(&name) else {
        let known = suggest(&name, contract.calls.keys().map(String::as_str));
        return Err(broken(&fields["call"].value, format!("there is no call `{name}`")).help(known));
    };
    let mut given = match fields.get("args").map(|field| &field.value) {
        None => Fields::new(),
        Some(args) => args.fields().cloned().ok_or_else(|| broken(args, "`args` is a table".to_owned()))?,
    };
    if let Some((arg, field)) = given.iter().find(|(arg, _)| !spec.args.contains_key(*arg)) {
        let known = suggest(arg, spec.args.keys().map(String::as_str));
        let place = Node::new(Kind::Absent, field.key.clone());
        return Err(broken(&place, format!("`{name}` takes no argument `{arg}`")).help(known));
    }
    for (arg, field) in &spec.default {
        given.entry(arg.clone()).or_insert_with(|| field.clone());
    }
    if let Some(arg) = spec.args.keys().find(|arg| !given.contains_key(*arg)) {
        return Err(broken(node, format!("the argument `{arg}` of `{name}` is missing")));
    }
    let values = plain(&given);
    let args: Map = spec.args.keys().filter_map(|arg| Some((arg.clone(), values.get(arg)?.clone()))).collect();
    let mut answers = IndexMap::new();
    if let Some(field) = fields.get("answers") {
        let scripts =
            field.value.fields().ok_or_else(|| broken(&field.value, "`answers` is a table of effects".to_owned()))?;
        for (effect, script) in scripts {
            if !spec.effects.contains(effect) {
                let known = suggest(effect, spec.effects.iter().map(String::as_str));
                let place = Node::new(Kind::Absent, script.key.clone());
                return Err(broken(&place, format!("`{name}` has no effect `{effect}`")).help(known));
            }
            answers.insert(effect.clone(), script_of(contract, effect, &script.value)?);
        }
    }
    let fault = match fields.get("fault") {
        None => None,
        Some(field) => Some(fault(contract, &name, &field.value)?),
    };
    Ok(Call {
        worker: text(fields, "as")?.unwrap_or_else(|| "main".to_owned()),
        args,
        answers,
        reply: reply(fields)?,
        fault,
        after: int(fields, "after")?,
        name,
    })
}

fn script_of(contract: &Contract, effect: &str, node: &Node) -> Result<Answers, Finding> {
    match &node.kind {
        Kind::List(items) => {
            Ok(Answers::InOrder(items.iter().map(|item| answer(contract, effect, item)).collect::<Result<_, _>>()?))
        }
        Kind::Map(fields) => {
            let mut ids = IndexMap::new();
            let mut otherwise = None;
            for (id, field) in fields {
                let answer = answer(contract, effect, &field.value)?;
                if id == "_else" {
                    otherwise = Some(answer);
                } else {
                    ids.insert(id.clone(), answer);
                }
            }
            Ok(Answers::ById { ids, otherwise })
        }
        _ => Err(broken(node, "answers are a list, or a table by id with `_else`".to_owned())),
    }
}

fn answer(contract: &Contract, effect: &str, node: &Node) -> Result<Answer, Finding> {
    let value = node.value();
    for domain in &contract.effects[effect].answers {
        let domain = &contract.domains[domain];
        if let Some((class, sample)) = domain.find(&value) {
            return Ok(Answer { class: domain.classes[class].name.clone(), sample, does: action(node)? });
        }
    }
    let domains = contract.effects[effect].answers.join(", ");
    Err(broken(node, format!("{value} is no answer of `{effect}`: it is in none of its domains ({domains})")))
}

fn action(node: &Node) -> Result<Action, Finding> {
    let Some((key, fields)) = node.fields().and_then(|fields| Some((fields.keys().next()?.as_str(), fields))) else {
        return Ok(Action::Return(node.value()));
    };
    if !key.starts_with('_') {
        return Ok(Action::Return(node.value()));
    }
    let allowed: &[&str] = if key == "_raise" { &["_raise", "text"] } else { &[key] };
    only(fields, allowed)?;
    let value = &fields[key].value;
    let word = value.text().unwrap_or_default();
    let unknown = |known: &[&str]| {
        Err(broken(value, format!("`{word}` is nothing that `{key}` can do"))
            .help(suggest(word, known.iter().copied())))
    };
    match key {
        "_raise" => {
            let kind = match word {
                "timeout" => RaiseKind::Timeout,
                "connection" => RaiseKind::Connection,
                "error" => RaiseKind::Error,
                "interrupt" => RaiseKind::Interrupt,
                "cancelled" => RaiseKind::Cancelled,
                "system-exit" => RaiseKind::SystemExit,
                _ => return unknown(&["timeout", "connection", "error", "interrupt", "cancelled", "system-exit"]),
            };
            let text = match fields.get("text").map(|field| field.value.value()) {
                None => word.as_bytes().to_vec(),
                Some(Value::Text(text)) => text.into_bytes(),
                Some(Value::Bytes(bytes)) => bytes,
                Some(_) => return Err(broken(value, "`text` is text".to_owned())),
            };
            Ok(Action::Raise { kind, text })
        }
        "_net" => Ok(Action::Net(match word {
            "refused" => NetFault::Refused,
            "unreachable" => NetFault::Unreachable,
            "no-name" => NetFault::NoName,
            "reset-before" => NetFault::ResetBefore,
            "reset-after" => NetFault::ResetAfter,
            "body-cut" => NetFault::BodyCut,
            "hang" => NetFault::Hang,
            "drip" => NetFault::Drip,
            _ => {
                return unknown(&[
                    "refused",
                    "unreachable",
                    "no-name",
                    "reset-before",
                    "reset-after",
                    "body-cut",
                    "hang",
                    "drip",
                ]);
            }
        })),
        "_http" => http(value),
        "_signal" => Ok(Action::Signal(match word {
            "INT" => Signal::Int,
            "TERM" => Signal::Term,
            _ => return unknown(&["INT", "TERM"]),
        })),
        "_lost" => Ok(Action::Lost(value.value())),
        _ => Err(broken(node, format!("`{key}` is nothing that the outside can do"))
            .help(suggest(key, ["_raise", "_net", "_http", "_signal", "_lost"]))),
    }
}

fn http(node: &Node) -> Result<Action, Finding> {
    let fields = node.fields().ok_or_else(|| broken(node, "`_http` is a table".to_owned()))?;
    only(fields, &["status", "body", "headers"])?;
    let status = int(fields, "status")?.and_then(|int| u16::try_from(int).ok()).filter(|int| (100..600).contains(int));
    let status = status.ok_or_else(|| broken(node, "`status` is a number from 100 to 599".to_owned()))?;
    let body = match fields.get("body").map(|field| field.value.value()) {
        None => Vec::new(),
        Some(Value::Text(text)) => text.into_bytes(),
        Some(Value::Bytes(bytes)) => bytes,
        Some(other) => other.to_json().into_bytes(),
    };
    let mut headers = IndexMap::new();
    for (name, field) in fields.get("headers").and_then(|field| field.value.fields()).into_iter().flatten() {
        headers.insert(name.clone(), field.value.text().unwrap_or_default().to_owned());
    }
    Ok(Action::Http { status, body, headers })
}

fn fault(contract: &Contract, call: &str, node: &Node) -> Result<Fault, Finding> {
    let fields = node.fields().ok_or_else(|| broken(node, "`fault` is a table of `at` and `by`".to_owned()))?;
    only(fields, &["at", "by"])?;
    let at = text(fields, "at")?.ok_or_else(|| {
        broken(node, "a fault needs `at`: a checkpoint, \"*\", or where the answer is lost".to_owned())
    })?;
    let by = text(fields, "by")?.ok_or_else(|| broken(node, "a fault needs `by`".to_owned()))?;
    let kind = match by.as_str() {
        "raise" => FaultKind::Raise,
        "kill" => FaultKind::Kill,
        "hold" => FaultKind::Hold,
        "stop" => FaultKind::Stop,
        "busy" => FaultKind::Storage(StorageFault::Busy),
        "full" => FaultKind::Storage(StorageFault::Full),
        "io" => FaultKind::Storage(StorageFault::Io),
        "lost" => FaultKind::Lost,
        other => {
            let known = ["raise", "kill", "hold", "stop", "busy", "full", "io", "lost"];
            return Err(broken(&fields["by"].value, format!("there is no fault `{other}`")).help(suggest(other, known)));
        }
    };
    let at = match (at.as_str(), kind) {
        ("request", FaultKind::Lost) => At::Request,
        ("reply", FaultKind::Lost) => At::Reply,
        (point, FaultKind::Lost) => {
            let message = format!("an answer is lost at `request` or at `reply`, and `{point}` is neither");
            return Err(broken(&fields["at"].value, message).help(suggest(point, CALLER_POINTS)));
        }
        (point, _) if CALLER_POINTS.contains(&point) => {
            let message = format!("at `{point}` an answer can be lost and nothing else, so `{by}` cannot strike there");
            return Err(broken(&fields["at"].value, message).help("write `by = \"lost\"`, or name a checkpoint"));
        }
        ("*", _) => At::Everywhere,
        (point, _) if contract.calls[call].checkpoints.iter().any(|known| known == point) => {
            At::Checkpoint(point.to_owned())
        }
        (point, _) => return Err(no_checkpoint(contract, call, point, &fields["at"].value)),
    };
    Ok(Fault { at, by: kind })
}

fn no_checkpoint(contract: &Contract, call: &str, point: &str, node: &Node) -> Finding {
    let known = contract.calls[call].checkpoints.iter().map(String::as_str);
    broken(node, format!("`{call}` passes no checkpoint `{point}`")).help(suggest(point, known))
}

fn reply(fields: &Fields) -> Result<Option<crate::case::Matcher>, Finding> {
    fields.get("reply").map(|field| matcher(&field.value)).transpose()
}

fn text(fields: &Fields, key: &str) -> Result<Option<String>, Finding> {
    match fields.get(key) {
        None => Ok(None),
        Some(field) => match field.value.text() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(broken(&field.value, format!("`{key}` must be text, and is {}", field.value.describe()))),
        },
    }
}

fn int(fields: &Fields, key: &str) -> Result<Option<i64>, Finding> {
    match fields.get(key) {
        None => Ok(None),
        Some(field) => match field.value.value() {
            Value::Int(int) => Ok(Some(int)),
            _ => Err(broken(&field.value, format!("`{key}` must be an integer, and is {}", field.value.describe()))),
        },
    }
}

fn only(fields: &Fields, allowed: &[&str]) -> Result<(), Finding> {
    match fields.iter().find(|(key, _)| !allowed.contains(&key.as_str())) {
        None => Ok(()),
        Some((key, field)) => {
            let place = Node::new(Kind::Absent, field.key.clone());
            Err(broken(&place, format!("`{key}` is no key here")).help(suggest(key, allowed.iter().copied())))
        }
    }
}
