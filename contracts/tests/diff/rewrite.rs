//! The same contract written otherwise: in another order, in another layout, under other names.

/// Puts sections and rows into another order. What stands before the first section stays there, and so do the samples
/// of a class, whose order means something.
pub(crate) fn shuffled(text: &str, seed: u64) -> String {
    let mut random = Random(seed | 1);
    let (mut top, mut sections, mut rows) = (String::new(), Vec::new(), Vec::new());
    for line in text.split_inclusive('\n') {
        if line.starts_with("  [\"") {
            rows.push(line);
            continue;
        }
        let home = sections.last_mut().unwrap_or(&mut top);
        random.shuffle(&mut rows);
        rows.drain(..).for_each(|row| home.push_str(row));
        match line.starts_with('[') {
            true => sections.push(line.to_owned()),
            false => home.push_str(line),
        }
    }
    random.shuffle(&mut sections);
    top + &sections.concat()
}

/// Puts comments, blank lines and blanks where they mean nothing.
pub(crate) fn laid_out(text: &str) -> String {
    let mut out = String::from("# another layout\n");
    for line in text.lines() {
        out.push_str(line);
        out.push_str(if line.starts_with('[') { "   # a section\n\n" } else { "  \n" });
        if line.starts_with("  [\"") {
            out.push_str("        # between two rows\n");
        }
    }
    out
}

/// One thing a name, each with everything that refers to it.
const NAMES: [&[(&str, &str)]; 11] = [
    &[("\"deliver\"", "\"pass\""), ("outbox/deliver/", "outbox/pass/"), ("outbox/deliver\"", "outbox/pass\"")],
    &[("lease-over-spent", "spent")],
    &[("sent-implies-accepted", "acknowledged")],
    &[("[domain.skew]", "[domain.drift]"), ("\"skew\"", "\"drift\""), ("$skew", "$drift"), ("skew=", "drift=")],
    &[
        ("\"unread\"", "\"unclear\""),
        ("class.unread]", "class.unclear]"),
        ("unread = [\"http\"]", "unclear = [\"http\"]"),
    ],
    &[("budget = ", "most = "), ("$budget", "$most")],
    &[("backoff  = ", "waits    = "), ("\"backoff\"", "\"waits\"")],
    &[("payload_rule", "carry")],
    &[("http-html", "html-page")],
    &[
        ("[effect.send]", "[effect.post]"),
        ("send = ", "post = "),
        ("FROM send", "FROM post"),
        ("from send", "from post"),
        ("[\"send\"]", "[\"post\"]"),
    ],
    &[("blank-token-accepted", "blanks")],
];

/// How many things have another name to go by.
pub(crate) const RENAMES: usize = NAMES.len();

/// Gives one thing another name, everywhere.
pub(crate) fn renamed(text: &str, which: usize) -> String {
    NAMES[which].iter().fold(text.to_owned(), |text, (old, new)| text.replace(old, new))
}

/// Xorshift: enough for an order.
struct Random(u64);

impl Random {
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            let other = usize::try_from(self.0 % (index as u64 + 1)).expect("an index");
            items.swap(index, other);
        }
    }
}
