//! The renderers, each held against a reader that is not ours: a terminal's parser, GitHub's Markdown, an XML reader, a
//! JSON Schema validator. One binary, so that the readers are linked once. Snapshots lie in `tests/snapshots`; `cargo
//! insta review` shows what changed.

mod compare;
mod escape;
mod github;
mod hostile;
mod json;
mod junit;
mod kind;
mod markdown;
mod merge;
mod sample;
mod text;
