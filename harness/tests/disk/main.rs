//! The disks that a crash can leave, against an independent account of what they may be.

mod folders;
mod json;
mod logs;
mod oracle;
mod properties;
mod rules;
