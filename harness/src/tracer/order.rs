//! What a tracer is asked to do, and the command line that says so.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::WORD;

/// What a tracer is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// Where it writes what it finds.
    pub(super) log: PathBuf,
    /// The folder of which it records what happens to it.
    pub(super) store: Option<PathBuf>,
    /// After how many operations it kills everything.
    pub(super) kill_at: Option<u64>,
    /// The virtual time, and whose it is.
    pub(super) clock: Option<(PathBuf, usize)>,
    /// The program.
    pub(super) argv: Vec<OsString>,
}

impl Order {
    /// The command line.
    ///
    /// # Errors
    /// This program does not know its own path.
    pub(super) fn command(self) -> io::Result<Vec<OsString>> {
        let mut words: Vec<OsString> = vec![env::current_exe()?.into(), WORD.into(), "--log".into(), self.log.into()];
        if let Some(store) = self.store {
            words.extend(["--store".into(), store.into()]);
        }
        if let Some(operations) = self.kill_at {
            words.extend(["--kill-at".into(), operations.to_string().into()]);
        }
        if let Some((clock, worker)) = self.clock {
            words.extend(["--clock".into(), clock.into(), "--worker".into(), worker.to_string().into()]);
        }
        words.push("--".into());
        words.extend(self.argv);
        Ok(words)
    }

    /// Reads the words behind the first; nothing if they are no order.
    pub(super) fn read(words: &[OsString]) -> Option<Order> {
        let split = words.iter().position(|word| word == "--")?;
        let (said, argv) = (&words[..split], &words[split + 1..]);
        let after = |name: &str| said.chunks(2).find(|pair| pair[0] == name).and_then(|pair| pair.get(1));
        let path = |name| after(name).map(PathBuf::from);
        let number = |name| after(name).map(|word| word.to_str().and_then(|word| word.parse::<u64>().ok()));
        let kill_at = number("--kill-at").map_or(Some(None), |at| at.map(Some))?;
        let worker = number("--worker").map_or(Some(0), |worker| worker)?;
        let clock = path("--clock").map(|clock| (clock, worker as usize));
        let order = Order { log: path("--log")?, store: path("--store"), kill_at, clock, argv: argv.to_vec() };
        (!argv.is_empty()).then_some(order)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(Some("/s"), Some(7), Some(("/c", 3)))]
    #[case(Some("/s"), None, None)]
    #[case(None, None, Some(("/c", 0)))]
    fn an_order_is_read_as_it_was_given(
        #[case] store: Option<&str>,
        #[case] kill_at: Option<u64>,
        #[case] clock: Option<(&str, usize)>,
    ) {
        let order = Order {
            log: "/l".into(),
            store: store.map(PathBuf::from),
            kill_at,
            clock: clock.map(|(path, worker)| (path.into(), worker)),
            argv: ["program", "--", "--log"].map(OsString::from).to_vec(),
        };
        let words = order.clone().command().expect("it knows itself");
        assert_eq!(Order::read(&words[2..]), Some(order));
    }

    #[rstest]
    #[case(&["--writes"])]
    #[case(&["--log", "/l", "--"])]
    #[case(&["--log", "/l", "--kill-at", "x", "--", "program"])]
    fn what_is_no_order_is_not_read(#[case] words: &[&str]) {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        assert_eq!(Order::read(&words), None);
    }
}
