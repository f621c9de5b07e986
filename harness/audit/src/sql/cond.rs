//! Conditions that may be known before any line, so that queries say no more than they must.

/// A condition that may be known before any line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cond {
    Always,
    Never,
    If(String),
}

impl Cond {
    pub(super) fn all(parts: impl IntoIterator<Item = Cond>) -> Cond {
        let mut texts = Vec::new();
        for part in parts {
            match part {
                Cond::Always => {}
                Cond::Never => return Cond::Never,
                Cond::If(text) => texts.push(text),
            }
        }
        if texts.is_empty() { Cond::Always } else { Cond::If(texts.join(" AND ")) }
    }

    pub(super) fn any(parts: impl IntoIterator<Item = Cond>) -> Cond {
        let mut texts = Vec::new();
        for part in parts {
            match part {
                Cond::Never => {}
                Cond::Always => return Cond::Always,
                Cond::If(text) => texts.push(format!("({text})")),
            }
        }
        if texts.is_empty() { Cond::Never } else { Cond::If(texts.join("\n      OR ")) }
    }

    pub(super) fn not(self) -> Cond {
        match self {
            Cond::Always => Cond::Never,
            Cond::Never => Cond::Always,
            Cond::If(text) => Cond::If(format!("NOT ({text})")),
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Cond::Always => "1 = 1".to_owned(),
            Cond::Never => "1 = 0".to_owned(),
            Cond::If(text) => text.clone(),
        }
    }
}

/// What the rows of a rule's table say of a line: one of them holds, or one that shows a loss applies.
pub(super) struct Verdicts {
    pub(super) held: Cond,
    pub(super) lossy: Cond,
}

/// A line that no row excuses.
pub(super) fn broken(verdicts: Verdicts) -> Cond {
    Cond::all([verdicts.held.not(), verdicts.lossy.not()])
}

/// A line that shows that others are missing.
pub(super) fn incomplete(verdicts: Verdicts) -> Cond {
    Cond::all([verdicts.held.not(), Cond::any([verdicts.lossy])])
}
