//! Builds the book in `target/book`: the pages that `docs/SUMMARY.md` lists, by mdBook, and checks every link in it.
//!
//! Pages link to each other and to sources by their places in the repository, where most readers see them. So mdBook
//! gets a copy of the repository with these pages, and the files that they link to, in their places.
//!
//! Not here: what is in the book (`docs/SUMMARY.md`), and the links from pages to sources and headings as written
//! (`xtask/src/tidy/links.rs`).

#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Component, Path, PathBuf};

use mdbook_driver::MDBook;
use mdbook_driver::config::Config;
use regex::Regex;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let root = normal(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let (copy, book) = (root.join("target/book-pages"), root.join("target/book"));
    for folder in [&copy, &book] {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
    }
    let summary = fs::read_to_string(root.join("docs/SUMMARY.md"))?;
    let pages: BTreeSet<PathBuf> = targets(&summary)?
        .map(|target| normal(&Path::new("docs").join(target)))
        .collect();
    for page in &pages {
        let text = fs::read_to_string(root.join(page))
            .map_err(|error| format!("{}: {error}", page.display()))?;
        put(&copy.join(page), text.as_bytes())?;
        for target in targets(&text)? {
            let file = normal(&page.parent().unwrap_or(Path::new("")).join(target));
            if !pages.contains(&file) && root.join(&file).is_file() {
                put(&copy.join(&file), &fs::read(root.join(&file))?)?;
            }
        }
    }
    for page in files(&root.join("docs"), "md")? {
        let page = page.strip_prefix(&root)?;
        let is_known = pages.contains(page) || page.starts_with("docs/book");
        if !is_known && page != Path::new("docs/SUMMARY.md") {
            return Err(format!("docs/SUMMARY.md does not list {}", page.display()).into());
        }
    }
    put(&copy.join("SUMMARY.md"), from_the_root(&summary).as_bytes())?;
    let mut config = Config::from_disk(root.join("docs/book/book.toml"))?;
    config.book.src = copy;
    config.build.build_dir = book.clone();
    MDBook::load_with_config(&root, config)?.build()?;
    let dead = dead_links(&book)?;
    if !dead.is_empty() {
        return Err(format!("links of the book lead nowhere:\n{}", dead.join("\n")).into());
    }
    println!(
        "{} pages, {}",
        pages.len(),
        book.join("index.html").display()
    );
    Ok(())
}

/// What a page links to by place, without headings.
fn targets(text: &str) -> Outcome<impl Iterator<Item = &str>> {
    let links = Regex::new(r"(?m)\]\(<?([^)#\s>]+)|^\[[^\]]+\]: (\S+)")?;
    let targets = links.captures_iter(text).collect::<Vec<_>>().into_iter();
    let targets = targets.filter_map(|link| link.get(1).or(link.get(2)));
    let targets = targets.map(|target| target.as_str().split('#').next().unwrap_or_default());
    Ok(targets.filter(|target| !target.contains("://")))
}

/// The summary with its links from the root, where mdBook wants it.
fn from_the_root(summary: &str) -> String {
    summary.replace("](", "](docs/").replace("](docs/../", "](")
}

fn put(path: &Path, text: &[u8]) -> Outcome<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
    Ok(fs::write(path, text)?)
}

/// Without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}

/// Links of the pages below this folder to files and headings that are not there.
fn dead_links(book: &Path) -> Outcome<Vec<String>> {
    let link = Regex::new(r#"(?:href|src)="([^"]+)""#)?;
    let mut dead = Vec::new();
    for page in files(book, "html")? {
        // What all pages have in common comes from mdBook, relative to the root.
        let is_page = !["print.html", "toc.html", "404.html"]
            .iter()
            .any(|name| page.ends_with(name));
        let text = fs::read_to_string(&page)?;
        for target in link
            .captures_iter(&text)
            .filter(|_| is_page)
            .map(|link| link[1].to_owned())
        {
            if target.contains("://")
                || target.starts_with("mailto:")
                || target.starts_with("data:")
            {
                continue;
            }
            let (path, heading) = target.split_once('#').unwrap_or((&target, ""));
            let file = match path {
                "" => page.clone(),
                path => normal(&page.parent().unwrap_or(book).join(path)),
            };
            let is_there = match fs::read_to_string(&file) {
                Ok(text) => heading.is_empty() || text.contains(&format!("id=\"{heading}\"")),
                Err(_) => file.is_file(),
            };
            if !is_there {
                dead.push(format!("{}: {target}", page.strip_prefix(book)?.display()));
            }
        }
    }
    Ok(dead)
}

fn files(folder: &Path, extension: &str) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, extension)?);
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_links_by_place() {
        let text = "[a](b.md#c) ![d](<../e.svg>) [f](https://g)\n[h]: i.rs\n";
        let found: Vec<_> = targets(text).unwrap().collect();
        assert_eq!(found, ["b.md", "../e.svg", "i.rs"]);
    }

    #[test]
    fn the_summary_begins_at_the_root() {
        assert_eq!(
            from_the_root("[a](b.md)\n[c](../d.md)"),
            "[a](docs/b.md)\n[c](d.md)"
        );
        assert_eq!(
            normal(Path::new("docs/./decisions/../a.md")),
            Path::new("docs/a.md")
        );
    }

    #[test]
    fn a_link_to_a_heading_that_is_not_there_is_dead() {
        let folder = std::env::temp_dir().join(format!("manyhands-book-{}", std::process::id()));
        let page = r##"<a href="#here"></a><a href="b.html#gone"></a><a href="c.html"></a><h2 id="here">"##;
        put(&folder.join("a.html"), page.as_bytes()).unwrap();
        put(&folder.join("b.html"), b"").unwrap();
        let dead = dead_links(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(dead, ["a.html: b.html#gone", "a.html: c.html"]);
    }
}
