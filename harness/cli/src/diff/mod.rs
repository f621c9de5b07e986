//! `nack diff BASE [HEAD]`: two versions of contracts side by side, and what the newer one no longer refuses.

mod sides;
mod written;

use nack_contracts::Contract;
use nack_contracts::diff::{Change, Direction, accept, diff as changes, same_but_for_the_name, sort, unused, whole};
use nack_reports::Exit;

use crate::args::DiffArgs;
use crate::trouble::Trouble;
use sides::{Side, against_report};
use written::{Changed, Written};

pub(crate) fn diff(args: &DiffArgs) -> Result<Exit, Trouble> {
    let base = Side::read(&args.base, false)?;
    let head = match &args.head {
        Some(head) => Side::read(head, true)?,
        None => Side::present()?,
    };
    let (base, head) = match (base, head) {
        (Side::Contracts(base), Side::Contracts(head)) => (base, head),
        (Side::Report(report), Side::Contracts(head)) => {
            let (written, exit) = against_report(&args.base, &report, &head)?;
            written.print(args.format);
            return Ok(exit);
        }
        (_, Side::Report(_)) => {
            return Err(Trouble::Usage(
                "HEAD is a report, and a report holds no rules: give a contract, a folder or a revision".to_owned(),
            ));
        }
    };
    let mut written = Written::new(&base.told, &head.told);
    let mut left: Vec<&Contract> = head.contracts.iter().collect();
    let mut gone = Vec::new();
    let mut pairs = Vec::new();
    for old in &base.contracts {
        match left.iter().position(|new| new.name == old.name || (base.single && head.single)) {
            Some(index) => pairs.push((old, left.remove(index))),
            None => gone.push(old),
        }
    }
    // A contract under another name is the same; of one file beside a folder, the others are nobody's business.
    gone.retain(|old| match left.iter().position(|new| same_but_for_the_name(old, new)) {
        Some(index) => {
            let new = left.remove(index);
            written.add(Some(old), Some(new), vec![renamed(old, new)]);
            false
        }
        None => !head.single,
    });
    if base.single {
        left.clear();
    }
    if pairs.is_empty() && gone.is_empty() && left.is_empty() && written.is_empty() {
        return Err(Trouble::NothingMatched(format!("{} and {} have no contract in common", base.told, head.told)));
    }
    let mut idle = Vec::new();
    for (old, new) in pairs {
        let found = changes(old, new);
        idle.extend(unused(old, new, &found).into_iter().map(|finding| (new, finding)));
        written.add(Some(old), Some(new), found);
    }
    for old in gone {
        let mut found = vec![whole(old, Direction::Weakened)];
        // What is gone can hold no reason; any contract that stays may.
        head.contracts.iter().for_each(|new| {
            let before = base.contracts.iter().find(|before| before.name == new.name);
            accept(before.unwrap_or(old), new, &mut found);
        });
        idle.retain(|(_, finding)| !found.iter().any(|change| finding.message.contains(&format!("`{}`", change.at))));
        written.add(Some(old), None, found);
    }
    for new in left {
        written.add(None, Some(new), vec![whole(new, Direction::Strengthened)]);
    }
    written.print(args.format);
    if let Some((contract, _)) = idle.first() {
        let findings = idle.iter().filter(|(c, _)| c.name == contract.name).map(|(_, finding)| finding.clone());
        return Ok(Trouble::findings(&contract.source, findings.collect()).tell());
    }
    Ok(written.exit())
}

fn renamed(old: &Contract, new: &Contract) -> Change {
    let mut change = whole(new, Direction::Renamed);
    change.what = format!("the contract `{}` is called `{}` now", old.name, new.name);
    change.base = Some(old.name_span.clone());
    let mut changes = [change];
    sort(&mut changes);
    let [change] = changes;
    change
}

impl Changed {
    fn of(old: Option<&Contract>, new: Option<&Contract>, change: Change) -> Changed {
        let place = |contract: Option<&Contract>, span: Option<&std::ops::Range<usize>>| {
            let (contract, span) = (contract?, span?);
            Some(format!("{}:{}", contract.source.file, contract.source.line(span.start)))
        };
        Changed {
            contract: new.or(old).map_or_else(String::new, |contract| contract.name.clone()),
            direction: change.direction,
            base: place(old, change.base.as_ref()),
            head: place(new, change.head.as_ref()),
            rule: change.rule,
            at: change.at,
            what: change.what,
            accepted: change.accepted,
        }
    }
}

/// The exit code of these changes.
fn exit_of(changes: &[Changed]) -> Exit {
    let refused = |change: &Changed| change.direction == Direction::Weakened && change.accepted.is_none();
    if changes.iter().any(refused) { Exit::Failed } else { Exit::Held }
}
