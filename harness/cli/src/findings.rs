//! Findings for people, with a caret into the file's own lines, and for machines.

use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use nack::store::hide_passwords;
use nack_contracts::{Finding, Severity, Source};
use serde::Serialize;

/// A finding with the file it stands in.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(crate) source: Arc<Source>,
    pub(crate) finding: Finding,
}

#[derive(Serialize)]
struct Machine<'a> {
    rule: &'a str,
    at: &'a str,
    severity: Severity,
    message: &'a str,
    help: Option<&'a str>,
    file: &'a str,
    line: usize,
    column: usize,
    also: Vec<Also<'a>>,
}

#[derive(Serialize)]
struct Also<'a> {
    line: usize,
    column: usize,
    label: &'a str,
}

impl Located {
    pub(crate) fn is_error(&self) -> bool {
        self.finding.severity == Severity::Error
    }

    /// A span as the renderer can take it: inside the text, and on one line, since a table's span may cover many.
    fn clip(&self, span: &Range<usize>) -> Range<usize> {
        let text = &self.source.text;
        let start = (0..=span.start.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let line_end = text[start..].find('\n').map_or(text.len(), |end| start + end);
        let end = span.end.clamp(start, line_end);
        let end = (start..=end).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(start);
        start..end.max(start)
    }

    fn render(&self, renderer: &Renderer) -> String {
        let finding = &self.finding;
        let level = if self.is_error() { Level::ERROR } else { Level::NOTE };
        let mut snippet = Snippet::source(self.source.text.as_str()).path(self.source.file.as_str());
        for (index, (span, label)) in finding.marks.iter().enumerate() {
            let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
            let mut mark = kind.span(self.clip(span));
            if !label.is_empty() {
                mark = mark.label(label.as_str());
            }
            snippet = snippet.annotation(mark);
        }
        let title = hide_passwords(&format!("{}: {}", finding.at, finding.message));
        let mut group = level.primary_title(title.as_str()).id(finding.rule).element(snippet);
        if let Some(help) = &finding.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        renderer.render(&[group])
    }
}

/// Prints findings to the error stream.
pub(crate) fn print(findings: &[Located]) {
    let renderer = Renderer::styled();
    for located in findings {
        anstream::eprintln!("{}\n", located.render(&renderer));
    }
}

/// The findings as JSON.
pub(crate) fn to_json(findings: &[Located]) -> String {
    let machine: Vec<Machine<'_>> = findings
        .iter()
        .map(|Located { source, finding }| {
            let place = source.position(finding.span().start);
            Machine {
                rule: finding.rule,
                at: &finding.at,
                severity: finding.severity,
                message: &finding.message,
                help: finding.help.as_deref(),
                file: &source.file,
                line: place.line,
                column: place.column,
                also: finding.marks[1..]
                    .iter()
                    .map(|(span, label)| {
                        let place = source.position(span.start);
                        Also { line: place.line, column: place.column, label }
                    })
                    .collect(),
            }
        })
        .collect();
    serde_json::to_string_pretty(&machine).expect("findings hold text and numbers only")
}
