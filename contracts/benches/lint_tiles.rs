//! How long it takes to check large tables for gaps, overlaps and rows to be merged.
//!
//! Fails in a release build if that is longer than the linter may take.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nack_contracts::regions::{Limit, Region, gaps, mergeable, overlaps};

mod tiles;

use tiles::{Random, Shape, plant, starred, tiles};

const RUNS: usize = 21;

fn main() -> ExitCode {
    let mut slowest = Duration::ZERO;
    for shape in [Shape::Bushy, Shape::Deep, Shape::Windmill] {
        for flaws in [0, 10, 40] {
            let sizes = [60; 7];
            let mut random = Random(1);
            let table = plant(&sizes, tiles(&sizes, 1500 + flaws, shape, &mut random), flaws, &mut random);
            table.assert_found(&gaps(&sizes, &table.rows, Limit::default()), &overlaps(&table.rows));
            let outputs: Vec<usize> = table.rows.iter().map(|_| random.below(20)).collect();
            let (found, parts) = measure(&sizes, &table.rows, &outputs);
            println!(
                "  {shape:?}, {flaws} flaws of each kind: {found}; {parts:.1?} in {:.1?}",
                parts.iter().sum::<Duration>()
            );
            slowest = slowest.max(parts.iter().sum());
        }
    }
    let tiles_in_time = report("1500 rows x 7 columns", slowest, 100);

    let mut slowest = Duration::ZERO;
    for (cells, classes) in [(1, 10), (2, 5), (3, 10), (4, 15), (4, 19), (5, 19), (6, 19)] {
        let sizes = [20; 12];
        let rows = starred(&sizes, 200, cells, classes, &mut Random(7));
        let (found, parts) = measure(&sizes, &rows, &[0; 200]);
        println!("  {cells} cells of up to {classes} classes: {found}; {parts:.1?}");
        slowest = slowest.max(parts.iter().sum());
    }
    let stars_in_time = report("200 rows x 12 columns, mostly any", slowest, 1000);

    if cfg!(debug_assertions) || tiles_in_time && stars_in_time { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What was found, and the median times it took to find gaps, overlaps, and rows to be merged.
fn measure(sizes: &[usize], rows: &[Region], outputs: &[usize]) -> (String, [Duration; 3]) {
    let (gaps, gaps_time) = median(|| gaps(sizes, black_box(rows), Limit::default()));
    let (overlaps, overlaps_time) = median(|| overlaps(black_box(rows)).len());
    let (mergeable, mergeable_time) = median(|| mergeable(black_box(rows), outputs).len());
    let all = if gaps.complete { "" } else { " and more" };
    let found = format!("{} gaps{all}, {overlaps} overlaps, {mergeable} mergeable", gaps.regions.len());
    (found, [gaps_time, overlaps_time, mergeable_time])
}

fn median<T>(mut run: impl FnMut() -> T) -> (T, Duration) {
    let mut times = Vec::new();
    loop {
        let start = Instant::now();
        let result = black_box(run());
        times.push(start.elapsed());
        if times.len() == RUNS {
            times.sort();
            return (result, times[RUNS / 2]);
        }
    }
}

fn report(table: &str, median: Duration, limit: u128) -> bool {
    println!("{table}: median {:.1} ms (limit {limit} ms)", median.as_secs_f64() * 1000.0);
    median.as_millis() < limit
}
