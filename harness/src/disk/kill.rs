//! The disks that a SIGKILL can leave: every prefix of the log, and every page boundary inside a large write.

use super::log::What;
use super::timeline::{Part, Step, Timeline};
use super::tree::{Node, Tree};

/// A moment at which the run may have been killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// How many operations were done.
    pub op: usize,
    /// How many pages of the next one were written, if it is a write of several.
    pub pages: usize,
}

/// Calls `visit` with every point and the store as it was left, in the order of the log.
///
/// Above `most` points, those next to a sync, a change of names, a truncation or something the outside saw are kept,
/// and of the rest an even sample that fills `most` up. Returns how many points there are in all.
pub fn kill_images(timeline: &Timeline, most: usize, mut visit: impl FnMut(Point, &Tree)) -> usize {
    let points = points(timeline);
    let dull = points.iter().filter(|(_, marked)| !marked).count();
    let room = most.saturating_sub(points.len() - dull).min(dull);
    let (mut tree, mut done, mut passed) = (timeline.start.clone(), Point { op: 0, pages: 0 }, 0);
    for (point, marked) in &points {
        if !marked {
            passed += 1;
            if passed * room / dull == (passed - 1) * room / dull {
                continue;
            }
        }
        while done.op < point.op {
            let steps = timeline.steps_of(done.op);
            prepare(&mut tree, &timeline.ops[done.op].what);
            timeline.steps[steps].iter().skip(done.pages).for_each(|step| take(&mut tree, step));
            done = Point { op: done.op + 1, pages: 0 };
        }
        let steps = timeline.steps_of(point.op.min(timeline.ops.len().saturating_sub(1)));
        for step in timeline.steps[steps].iter().take(point.pages).skip(done.pages) {
            take(&mut tree, step);
        }
        done.pages = point.pages;
        visit(*point, &tree);
    }
    points.len()
}

/// All points, and whether each is next to something that matters more than another byte written.
fn points(timeline: &Timeline) -> Vec<(Point, bool)> {
    let mut points = vec![(Point { op: 0, pages: 0 }, true)];
    for (op, done) in timeline.ops.iter().enumerate() {
        let steps = timeline.steps_of(op);
        let matters = !matches!(done.what, What::Write { synced: None, .. } | What::Patch { .. });
        if matters && let Some((_, marked)) = points.last_mut() {
            *marked = true;
        }
        if matches!(done.what, What::Write { .. }) {
            points.extend((1..steps.len()).map(|pages| (Point { op, pages }, false)));
        }
        points.push((Point { op: op + 1, pages: 0 }, matters || op + 1 == timeline.ops.len()));
    }
    points
}

/// Brings what an operation makes before any of its steps: an inode without a name.
pub(crate) fn prepare(tree: &mut Tree, what: &What) {
    if let What::New { inode, kind, .. } | What::Adopt { inode, kind, .. } = what {
        tree.set_node(*inode, Node::new(kind));
    }
}

/// Takes a whole step, as the running system showed it. The timeline has checked that it fits.
fn take(tree: &mut Tree, step: &Step) {
    match &step.part {
        Part::Data(data) => {
            if let Ok(file) = tree.file_mut(data.file) {
                file.set_page(data.index, data.after.clone());
                file.set_size(data.size);
            }
        }
        Part::Size { file, size, .. } => {
            if let Ok(file) = tree.file_mut(*file) {
                file.truncate(*size);
            }
        }
        Part::Names { names, .. } => names.iter().for_each(|renamed| {
            let _ = tree.set_name(&renamed.place, renamed.inode);
        }),
        Part::Close { .. } => {}
    }
}
