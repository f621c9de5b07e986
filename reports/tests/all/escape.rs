//! Nothing dangerous survives, whatever the text: held against readers of terminals, of Markdown and of XML.

use nack_reports::escape::{Newlines, markdown, markdown_code, markdown_fence, terminal, xml};
use proptest::prelude::*;
use rstest::rstest;

use crate::hostile;

/// GitHub's dialect, with raw HTML let through: what a text smuggles in is to be seen.
pub(crate) fn html(source: &str) -> String {
    let mut options = comrak::Options::default();
    options.extension.table = true;
    options.extension.autolink = true;
    options.extension.strikethrough = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    options.extension.math_dollars = true;
    options.extension.alerts = true;
    options.render.r#unsafe = true;
    comrak::markdown_to_html(source, &options)
}

/// The text of HTML that holds no elements.
fn text_of(html: &str) -> String {
    let html = html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    html.replace("&amp;", "&")
}

/// What a reader sees of such HTML.
fn seen(html: &str) -> String {
    text_of(html).replace('\u{200b}', "")
}

/// Written out here on its own, so that a slip in the code is not repeated by its test.
pub(crate) fn is_dangerous(c: char) -> bool {
    let c = u32::from(c);
    c < 0x20
        || (0x7f..=0x9f).contains(&c)
        || [0xad, 0x61c, 0xfeff, 0xfffe, 0xffff].contains(&c)
        || (0x200b..=0x200f).contains(&c)
        || (0x2028..=0x202e).contains(&c)
        || (0x2060..=0x206f).contains(&c)
        || (0xe0000..=0xe0fff).contains(&c)
}

#[rstest]
#[case::a_colour("\u{1b}[31mred", "\\x1b[31mred")]
#[case::a_colour_in_one_byte("\u{9b}31mred", "\\u{9b}31mred")]
#[case::nul("a\u{0}b", "a\\x00b")]
#[case::a_line_that_overwrites_itself("fail\rpass", "fail\\rpass")]
#[case::letters_that_run_backwards("\u{202e}tnes", "\\u{202e}tnes")]
#[case::a_word_that_only_looks_the_same("se\u{200b}nt", "se\\u{200b}nt")]
#[case::a_space_that_is_none("sent\u{a0}", "sent\\u{a0}")]
#[case::ordinary_text("Zoë said 漢字 😀: {\"a\": \"\\n\"}", "Zoë said 漢字 😀: {\"a\": \"\\n\"}")]
fn a_terminal_shows_what_it_would_obey_or_hide(#[case] text: &str, #[case] shown: &str) {
    assert_eq!(terminal(text, Newlines::Show), shown);
}

#[rstest]
#[case(Newlines::Keep, "a\nb")]
#[case(Newlines::Show, "a\\nb")]
fn a_line_break_is_kept_or_shown_by_choice(#[case] newlines: Newlines, #[case] shown: &str) {
    assert_eq!(terminal("a\nb", newlines), shown);
}

#[rstest]
#[case::a_mention("@octocat", "@&#8203;octocat")]
#[case::an_issue("#123", "&#35;&#8203;123")]
#[case::an_issue_by_its_other_name("GH-123", "GH-&#8203;123")]
#[case::a_cell("a|b", "a&#124;b")]
#[case::a_link("[x](y)", "&#91;x&#93;(y)")]
#[case::a_bare_link("https://x.example", "https:&#8203;//x.example")]
#[case::code("`x`", "&#96;x&#96;")]
#[case::html("<b>", "&#60;b&#62;")]
#[case::a_colour("\u{1b}[31m", "&#92;x1b&#91;31m")]
#[case::a_sentence(
    "A row is sent only after a 202, never before (see 4.1).",
    "A row is sent only after a 202, never before (see 4.1)."
)]
fn markdown_means_only_itself(#[case] text: &str, #[case] escaped: &str) {
    assert_eq!(markdown(text), escaped);
}

#[test]
fn a_name_is_code_as_it_stands_and_anything_else_is_still_one_piece_of_code() {
    assert_eq!(markdown_code("outbox/sweep@37-fdatasync+kill=x"), "`outbox/sweep@37-fdatasync+kill=x`");
    assert_eq!(markdown_code("a`b|c"), "<code>a&#96;b&#124;c</code>");
    assert_eq!(markdown_code(""), "<code></code>");
}

proptest! {
    #[test]
    fn a_terminal_is_given_nothing_to_obey_or_hide(text in hostile::text()) {
        let kept = terminal(&text, Newlines::Keep);
        prop_assert!(!kept.chars().any(|c| c != '\n' && is_dangerous(c)), "{kept:?}");
        prop_assert_eq!(anstream::adapter::strip_str(&kept).to_string(), kept.clone());
        prop_assert_eq!(terminal(&text, Newlines::Show), kept.replace('\n', "\\n"));
    }

    #[test]
    fn what_is_shown_once_is_shown_the_same_again(text in hostile::text()) {
        let once = terminal(&text, Newlines::Keep);
        prop_assert_eq!(terminal(&once, Newlines::Keep), once);
    }

    #[test]
    fn markdown_reads_back_as_one_paragraph_of_the_same_text(text in hostile::text()) {
        let html = html(&markdown(&text));
        let inner = html.trim_end().strip_prefix("<p>").and_then(|html| html.strip_suffix("</p>"));
        let inner = inner.filter(|inner| !inner.contains('<'));
        prop_assert_eq!(inner.map(seen), Some(terminal(&text, Newlines::Show)), "{}", html);
    }

    #[test]
    fn markdown_calls_nobody_and_no_issue(text in hostile::text()) {
        let text = text_of(&html(&markdown(&text))).to_lowercase();
        let called = |(mark, next): (char, char)| "@#".contains(mark) && next.is_alphanumeric();
        prop_assert!(!text.chars().zip(text.chars().skip(1)).any(called), "{text}");
        prop_assert!(!text.contains("gh-1"), "{text}");
    }

    #[test]
    fn a_table_keeps_its_columns_whatever_stands_in_a_cell(text in hostile::text()) {
        let table = format!("| a | b |\n| --- | --- |\n| {} | {} |\n", markdown(&text), markdown_code(&text));
        let html = html(&table);
        prop_assert_eq!(html.matches("<td").count(), 2, "{}", html);
        prop_assert_eq!(html.matches("<tr").count(), 2, "{}", html);
        prop_assert!(!html.contains("<a") && !html.contains("<script"), "{html}");
    }

    #[test]
    fn code_reads_back_as_one_piece_of_code(text in hostile::text()) {
        let html = html(&markdown_code(&text));
        let inner = html.trim_end().strip_prefix("<p><code>").and_then(|html| html.strip_suffix("</code></p>"));
        let inner = inner.filter(|inner| !inner.contains('<'));
        prop_assert_eq!(inner.map(seen), Some(terminal(&text, Newlines::Show)), "{}", html);
    }

    #[test]
    fn no_line_of_a_text_closes_its_fence(text in hostile::text()) {
        let html = html(&markdown_fence(&text));
        let inner = html.trim_end().strip_prefix("<pre><code class=\"language-text\">");
        let inner = inner.and_then(|html| html.strip_suffix("</code></pre>")).filter(|inner| !inner.contains('<'));
        let shown = terminal(&text, Newlines::Keep);
        prop_assert_eq!(inner.map(seen), Some(format!("{}\n", shown.trim_end_matches('\n'))), "{}", html);
    }

    #[test]
    fn xml_holds_only_what_xml_can_hold_and_loses_nothing(text in hostile::text()) {
        let safe = xml(&text, Newlines::Keep);
        let holds = |c: char| matches!(c, '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        prop_assert!(safe.chars().all(holds), "{safe:?}");
        let mut report = quick_junit::Report::new(safe.replace('\n', "\\n"));
        let mut suite = quick_junit::TestSuite::new("suite");
        suite.set_system_out(format!(".{safe}."));
        report.add_test_suite(suite);
        let read = quick_junit::Report::deserialize_from_str(&report.to_string().expect("XML")).expect("valid XML");
        prop_assert_eq!(read, report);
    }
}
