//! The written report: complete in each format, and safe to publish.

#[cfg(unix)]
use bench_util::Paired;
use bench_util::{Comparison, Curve, Error, Goal, Report, Table};

const HOSTILE: &str = "<script>alert(1)</script> | \"x\" &\n# head";

/// A report that has one of everything, with names that try to become markup.
fn hostile() -> Report {
    let mut report = Report::new("hostile", HOSTILE);
    let compared = Comparison::exact(HOSTILE, "size_bytes", (HOSTILE, 10), (HOSTILE, 12_345));
    report.add(compared.goal(Goal::AtMost(0.5)).note(HOSTILE));
    report
        .curves
        .push(Curve::new(HOSTILE, HOSTILE, HOSTILE).line(HOSTILE, [(1.0, 2.0), (2.0, 9.0)]));
    let mut table = Table::new(HOSTILE, &[HOSTILE, "b"]);
    table.push([HOSTILE.to_owned(), "cell".to_owned()]);
    report.tables.push(table);
    report.missing(HOSTILE, HOSTILE, HOSTILE);
    report.note(HOSTILE);
    report
}

#[test]
fn names_of_tools_and_files_cannot_become_markup_of_the_page() {
    for text in [hostile().to_html(), hostile().to_svg()] {
        assert!(!text.contains("<script"), "{text}");
        assert!(text.contains("&lt;script&gt;"));
    }
}

#[test]
fn a_name_cannot_end_the_cell_or_the_line_of_a_markdown_table() {
    let text = hostile().to_markdown();
    let row = text.lines().find(|line| line.contains("12,345 B")).unwrap();
    assert!(row.ends_with("| missed |"), "{row}");
    assert_eq!(row.replace("\\|", "").matches('|').count(), 8);
}

#[test]
fn the_page_stands_alone() {
    let page = hostile().to_html();
    for outside in ["http-equiv", "src=", "<link", "@import", "url("] {
        assert!(!page.contains(outside), "the page loads something: {outside}");
    }
    assert!(page.contains("prefers-color-scheme:dark") && page.contains("width=device-width"));
}

#[test]
fn what_is_missing_is_told_without_repeating_its_remedy() {
    let mut report = Report::new("missing", "?");
    report.failed("a loop mount", &Error::unavailable("the right to mount", "run as root"));
    assert!(report.to_markdown().contains("| the right to mount is missing | run as root |"));
    assert_eq!(report.status(), 2);
}

#[test]
#[cfg(unix)]
fn a_full_disk_in_a_case_is_told_with_its_remedy() {
    let full = Paired::new("full")
        .reference("nothing", || ())
        .case_metered("writes", |_| Err(std::io::Error::from_raw_os_error(28).into()))
        .run();
    let mut report = Report::new("full", "?");
    report.add_or_failed("a tree", full);
    let text = report.to_markdown();
    let row = text.lines().find(|line| line.contains("| a tree |")).unwrap();
    assert!(row.contains("case `writes`") && row.contains("| free space there"), "{row}");
}

#[test]
fn a_curve_is_labelled_where_it_was_measured_unless_that_is_too_dense() {
    let page = |points: Vec<(f64, f64)>| {
        let mut report = Report::new("curve", "?");
        report.curves.push(Curve::new("c", "threads", "seconds").line("l", points));
        report.to_html()
    };
    let threads = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
    let measured = page(threads.map(|n| (n, 1.0 / n)).to_vec());
    assert!(measured.contains(">32</text>") && measured.contains(">64</text>"), "{measured}");
    let dense = page((1..100).map(|n| (f64::from(n), 1.0)).collect());
    assert!(!dense.contains(">32</text>") && dense.contains(">50</text>"), "{dense}");
}

#[test]
fn every_part_is_in_every_format() {
    let mut report = hostile();
    report.note("the last remark");
    for text in [report.to_html(), report.to_markdown(), report.to_json()] {
        for part in ["cell", "the last remark"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}

#[test]
fn joined_reports_say_where_each_row_comes_from() {
    let mut all = Report::new("all", "everything");
    for name in ["index", "cas"] {
        let mut one = Report::new(name, "part");
        one.add(Comparison::exact("size", "n", ("a", 1), ("b", 2)));
        one.missing("root", "no loop mounts", "run as root");
        all.merge(one);
    }
    let names: Vec<&str> = all.comparisons.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["index: size", "cas: size"]);
    assert_eq!(all.missing.len(), 1, "the same thing is named once");
}

#[test]
fn a_report_is_written_in_four_files() {
    let folder = tempfile::tempdir().unwrap();
    hostile().write(&folder.path().join("new").join("folder")).unwrap();
    for ending in ["json", "md", "html", "svg"] {
        let path = folder.path().join(format!("new/folder/hostile.{ending}"));
        assert!(std::fs::metadata(path).unwrap().len() > 200, "{ending}");
    }
}
