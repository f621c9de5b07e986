//! Texts as a hostile subject would make them: any characters, mixed with those that do something somewhere.

use proptest::prelude::*;

const PIECES: &[&str] = &[
    "\u{1b}", "\u{1b}[31m", "\u{1b}]8;;https://evil.example\u{7}", "\u{1b}[2K\u{1b}[1A", "\u{9b}0m", "\u{0}", "\r", "\n", "\r\n", "\t",
    "\u{8}", "\u{7f}", "\u{85}", "\u{202e}", "\u{2066}", "\u{200b}", "\u{200d}", "\u{feff}", "\u{2028}", "\u{e0041}", "\u{fffe}",
    "\u{ffff}", "\u{fe0f}", "|", "||", "\\|", "\\", "`", "``", "```", "~~~", "*", "**", "_", "__", "~", "~~", "[", "](", ")", "![",
    "[x](https://evil.example)", "<", ">", "<script>", "</details>", "<!--", "-->", "<https://evil.example>", "&", "&lt;", "&#64;",
    "]]>", "<![CDATA[", "@octocat", "@", "#1", "#", "GH-1", "gh-1", "owner/repo#1", "a@b.example", "https://evil.example",
    "www.evil.example", "mailto:a@b.example", ":smile:", ":+1:", "$x$", "$$", "- ", "+ ", "* ", "1. ", "1) ", "# ", "> ", "=", "---",
    ":--", "    ", " ", "\"", "'", "a", "word", "42", ".", "é", "漢", "😀",
];

/// A text of such pieces.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => proptest::sample::select(PIECES).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 1..12).prop_map(|pieces| pieces.concat())
}
