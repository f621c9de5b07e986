//! The receivers of one worker, and where each use of an effect stands. The runner knows of one use at a time; what
//! comes meanwhile waits for its turn.

use std::sync::Arc;
use std::time::Instant;

use nack_cases::{Action, NetFault};
use nack_contracts::Map;
use rustix::event::PollFd;

use super::effects::{Effects, Outside};
use crate::http::answers::Reaction;
use crate::http::receiver::{Arrival, Conn, Play, Receiver, What};
use crate::session::{Directive, Event, Point, StartError, Watch};
use crate::store::Translation;

/// The outside of one worker.
#[derive(Debug)]
pub(crate) struct Downstream {
    lines: Vec<Line>,
    words: Arc<Translation>,
    /// The checkpoint that the runner wants to hear of.
    checkpoint: Option<String>,
    uses: Vec<Use>,
    /// The use that the runner was told of and has not answered.
    told: Option<(usize, Conn)>,
    in_vain: bool,
}

/// One effect, and who listens for it.
#[derive(Debug)]
struct Line {
    outside: Arc<Outside>,
    receiver: Receiver,
    absent: Option<NetFault>,
}

/// One use of an effect.
#[derive(Debug)]
struct Use {
    line: usize,
    conn: Conn,
    stage: Stage,
    /// Whether its connection has ended.
    gone: bool,
}

/// Where a use stands. Each stage but `Reading` and `Answering` is told to the runner and waits for its word.
#[derive(Debug)]
enum Stage {
    /// At the checkpoint just before it: connected, and nothing is read.
    Before(String),
    /// Connected, and nothing is read.
    Reached,
    /// Its request is read.
    Reading,
    /// Its request was read whole.
    Asked(Map),
    /// Its answer goes out but for the last byte.
    Answering,
    /// At the checkpoint just after it: the last byte is withheld.
    After(String),
}

impl Downstream {
    /// Listens for every effect.
    ///
    /// # Errors
    /// When the system has no port.
    pub(crate) fn listen(effects: &Effects, words: &Arc<Translation>) -> Result<Downstream, StartError> {
        let line = |outside: &Arc<Outside>| {
            let receiver = Receiver::listen().map_err(|error| StartError(format!("no port is free: {error}")))?;
            Ok(Line { outside: Arc::clone(outside), receiver, absent: None })
        };
        let lines = effects.0.iter().map(line).collect::<Result<_, _>>()?;
        let words = Arc::clone(words);
        Ok(Downstream { lines, words, checkpoint: None, uses: Vec::new(), told: None, in_vain: false })
    }

    /// A call begins: what the runner wants to hear of it, and which effects nobody is behind.
    ///
    /// # Errors
    /// When a port was lost to somebody else.
    pub(crate) fn begin(&mut self, watch: &Watch) -> Result<(), StartError> {
        (self.checkpoint, self.in_vain) = (watch.checkpoint.clone(), false);
        for line in &mut self.lines {
            line.absent = watch.absent.get(&line.outside.name).copied();
            let done = match line.absent {
                Some(NetFault::Refused) => line.receiver.stop_listening(),
                _ => line.receiver.listen_again(),
            };
            done.map_err(|error| StartError(format!("its downstream lost its port: {error}")))?;
        }
        Ok(())
    }

    /// Where an effect is reached during this call.
    pub(crate) fn url(&self, effect: &str) -> Option<String> {
        let line = self.lines.iter().find(|line| line.outside.name == effect)?;
        let url = line.receiver.url();
        let port = url.rsplit(':').next().unwrap_or_default();
        Some(match line.absent {
            // A broadcast address that no connection leaves the machine for.
            Some(NetFault::Unreachable) => format!("http://127.255.255.255:{port}"),
            // A name that nobody may ever have (RFC 6761).
            Some(NetFault::NoName) => format!("http://nowhere.invalid:{port}"),
            _ => url,
        })
    }

    /// What to wait on.
    pub(crate) fn watched<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        fds.extend(self.lines.iter().flat_map(|line| line.receiver.fds()));
    }

    /// When a turn is due although nothing is ready.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.lines.iter().filter_map(|line| line.receiver.due()).min()
    }

    /// Moves what can be moved now. Returns what the runner is to hear.
    pub(crate) fn turn(&mut self) -> Option<Event> {
        let mut arrivals = Vec::new();
        for line in 0..self.lines.len() {
            self.lines[line].receiver.turn(&mut arrivals);
            for arrival in arrivals.drain(..) {
                self.arrived(line, arrival);
            }
        }
        self.tell()
    }

    fn arrived(&mut self, line: usize, arrival: Arrival) {
        let find =
            |uses: &mut Vec<Use>, conn: Conn| uses.iter().position(|known| (known.line, known.conn) == (line, conn));
        let outside = &self.lines[line].outside;
        match arrival {
            Arrival::Connected(conn) => {
                outside.reach();
                let before = outside.between().map(|(before, _)| before);
                let stage = match before.filter(|before| self.checkpoint.as_ref() == Some(before)) {
                    Some(before) => Stage::Before(before.clone()),
                    None => Stage::Reached,
                };
                self.uses.push(Use { line, conn, stage, gone: false });
            }
            Arrival::Request(conn, request) => {
                let delivered = outside.delivered(&request, &self.words);
                if let Some(place) = find(&mut self.uses, conn) {
                    self.uses[place].stage = Stage::Asked(delivered);
                }
            }
            Arrival::Broken(conn, _) => {
                let Some(place) = find(&mut self.uses, conn) else { return };
                self.uses[place].gone = true;
                // What was read whole stands; what was not is none.
                if matches!(self.uses[place].stage, Stage::Reading | Stage::Answering) {
                    self.uses.remove(place);
                }
            }
            Arrival::LastByte(conn) => {
                let after = outside.between().map(|(_, after)| after.clone());
                if let (Some(place), Some(after)) = (find(&mut self.uses, conn), after) {
                    self.uses[place].stage = Stage::After(after);
                }
            }
            Arrival::Answered(conn) => self.uses.retain(|known| (known.line, known.conn) != (line, conn)),
        }
    }

    /// Tells the runner of the first use that waits for its word, unless it was told of one already.
    fn tell(&mut self) -> Option<Event> {
        if self.told.is_some() {
            return None;
        }
        let (place, event) = self.uses.iter().enumerate().find_map(|(place, known)| {
            let name = || self.lines[known.line].outside.name.clone();
            let event = match &known.stage {
                Stage::Before(point) | Stage::After(point) => Event::Point(Point::Checkpoint(point.clone())),
                Stage::Reached => Event::Reaches(name()),
                Stage::Asked(columns) => Event::Effect { name: name(), columns: columns.clone() },
                Stage::Reading | Stage::Answering => return None,
            };
            Some((place, event))
        })?;
        self.told = Some((self.uses[place].line, self.uses[place].conn));
        Some(event)
    }

    /// Follows the runner's word on the use that it was told of. Returns what the runner is to hear next.
    pub(crate) fn resume(&mut self, directive: Directive) -> Option<Event> {
        let told = self.told.take();
        if let Some(place) = self.uses.iter().position(|known| Some((known.line, known.conn)) == told) {
            let Use { line, conn, stage, gone } = self.uses.remove(place);
            if let Some(stage) = self.follow(line, conn, stage, directive).filter(|_| !gone) {
                self.uses.insert(place, Use { line, conn, stage, gone });
            }
        }
        self.turn()
    }

    /// The next stage of a use; `None` if it is over.
    fn follow(&mut self, line: usize, conn: Conn, stage: Stage, directive: Directive) -> Option<Stage> {
        let after = self.lines[line].outside.between().map(|(_, after)| after);
        let withhold = after.is_some() && after == self.checkpoint.as_ref();
        match (stage, directive) {
            (Stage::Before(_), _) => Some(Stage::Reached),
            (Stage::Reached, Directive::Answer(_)) => {
                self.lines[line].receiver.reset(conn);
                None
            }
            (Stage::Reached, _) => {
                self.lines[line].receiver.read(conn);
                Some(Stage::Reading)
            }
            (Stage::Asked(_), directive) => {
                let what = self.played(line, directive);
                let endless = matches!(what, What::Hang | What::Drip);
                self.in_vain |= endless;
                // What HTTP cannot carry was refused before the case began.
                let played = self.lines[line].receiver.answer(conn, Play { what, withhold });
                (withhold && !endless && played.is_ok()).then_some(Stage::Answering)
            }
            (Stage::After(_), _) => {
                self.lines[line].receiver.finish(conn);
                None
            }
            (stage @ (Stage::Reading | Stage::Answering), _) => Some(stage),
        }
    }

    /// What is played for the runner's word. A use without an answer gets a closed connection.
    fn played(&self, line: usize, directive: Directive) -> What {
        let Directive::Answer(answer) = directive else { return What::Close };
        if let Action::Signal(_) = answer.does {
            return What::Close;
        }
        match self.lines[line].outside.reaction(&answer) {
            Ok(Reaction::Play(what)) => what,
            _ => What::Close,
        }
    }

    /// The use that the runner was told of gets no answer, ever: something else comes instead.
    pub(crate) fn leave_unanswered(&mut self) {
        if let Some(told) = self.told.take() {
            self.uses.retain(|known| (known.line, known.conn) != told);
        }
    }

    /// Whether nothing that came waits for anything.
    pub(crate) fn is_idle(&self) -> bool {
        self.uses.is_empty()
    }

    /// Whether an answer was begun that never comes.
    pub(crate) fn in_vain(&self) -> bool {
        self.in_vain
    }
}
