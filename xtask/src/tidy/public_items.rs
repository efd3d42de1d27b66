//! What users of the library can name, with its documentation.
//!
//! An item in a private module counts if `pub use` leads to it from a public one. What can be reached but not named,
//! such as the types of a query's operators, has no page and does not count. Neither do items hidden from the
//! documentation, methods of trait implementations, and variants. Looks at lines as rustfmt leaves them.

use std::collections::BTreeSet;

use super::paths::paths_from;
use super::source::{Line, Scope, Source, is_name};
use super::tree::{LIBRARY, Tree};

/// One item, or the module of a whole file.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) path: String,
    pub(crate) line_number: usize,
    pub(crate) kind: Kind,
    /// The type or trait that a method belongs to.
    pub(crate) owner: Option<String>,
    pub(crate) name: String,
    /// Without the marks of comments, line by line.
    pub(crate) docs: String,
}

impl Item {
    /// `f`, or `A::f` for a function of a type.
    pub(crate) fn whole_name(&self) -> String {
        match &self.owner {
            Some(owner) => format!("{owner}::{}", self.name),
            None => self.name.clone(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Function,
    Type,
    Module,
}

/// Every item with a page of its own or a place on its owner's page, and the public modules.
pub(crate) fn public_items(tree: &Tree) -> Vec<Item> {
    let files: Vec<File> = tree
        .library()
        .map(|(path, source)| File::of(path, &source))
        .collect();
    let nameable = Nameable::of(&files);
    let mut items = Vec::new();
    for file in files {
        let own_types: BTreeSet<String> = file.types().map(str::to_owned).collect();
        for item in file.items {
            let is_public = match &item.owner {
                None if item.kind == Kind::Module => nameable.modules.contains(&file.module),
                None => nameable.has(&file.module, &item.name),
                Some(owner) if own_types.contains(owner) => nameable.has(&file.module, owner),
                Some(owner) => nameable.has_anywhere(owner),
            };
            if is_public {
                items.push(item);
            }
        }
    }
    items
}

/// A file as a module: what it declares and what it re-exports.
struct File {
    module: Vec<String>,
    items: Vec<Item>,
    public_children: Vec<String>,
    /// From the crate's root.
    reexports: Vec<Vec<String>>,
}

impl File {
    fn of(path: &str, source: &Source) -> Self {
        let module = module_of(path);
        let code = source.shipped_code();
        let children = code
            .lines()
            .filter_map(|line| line.trim().strip_prefix("pub mod ")?.strip_suffix(';'));
        Self {
            items: Reader::new(path, &module).read(source),
            public_children: children.map(str::to_owned).collect(),
            reexports: reexports(&code, &module),
            module,
        }
    }

    fn types(&self) -> impl Iterator<Item = &str> {
        let types = self.items.iter().filter(|item| item.kind == Kind::Type);
        types.map(|item| item.name.as_str())
    }
}

/// `a`, `b` for `a/b.rs` and `a/b/mod.rs`; nothing for the root.
fn module_of(path: &str) -> Vec<String> {
    let inside = path.strip_prefix(LIBRARY).unwrap_or(path);
    let inside = inside.strip_suffix(".rs").unwrap_or(inside);
    let parts = inside
        .split('/')
        .filter(|part| !["mod", "lib"].contains(part));
    parts.map(str::to_owned).collect()
}

/// Where the names that a module re-exports to all come from.
fn reexports(code: &str, module: &[String]) -> Vec<Vec<String>> {
    let declarations = code.split("pub use ").skip(1);
    let declarations = declarations.filter_map(|rest| rest.split(';').next());
    let paths = declarations.flat_map(|tree| {
        let root: String = tree.chars().take_while(|c| is_name(*c)).collect();
        paths_from(tree, &root)
    });
    let from_the_root = |parts: Vec<String>| match parts.split_first() {
        Some((root, rest)) if root == "crate" => rest.to_vec(),
        _ => [module, &parts].concat(),
    };
    paths.map(|path| from_the_root(path.parts)).collect()
}

/// The modules and the items that a path of public modules and re-exports leads to.
struct Nameable {
    modules: BTreeSet<Vec<String>>,
    items: BTreeSet<Vec<String>>,
}

impl Nameable {
    fn of(files: &[File]) -> Self {
        let mut nameable = Self {
            modules: BTreeSet::new(),
            items: BTreeSet::new(),
        };
        nameable.enter(files, &[]);
        nameable
    }

    fn enter(&mut self, files: &[File], module: &[String]) {
        let Some(file) = files.iter().find(|file| file.module == module) else {
            return;
        };
        self.modules.insert(module.to_vec());
        let own = file.items.iter().filter(|item| item.owner.is_none());
        let path_of = |item: &Item| [module, std::slice::from_ref(&item.name)].concat();
        self.items.extend(own.map(path_of));
        for child in &file.public_children {
            self.enter(files, &[module, std::slice::from_ref(child)].concat());
        }
        for target in &file.reexports {
            self.follow(files, target);
        }
    }

    /// Goes from a re-exported name to where it is declared.
    fn follow(&mut self, files: &[File], target: &[String]) {
        let Some((name, module)) = target.split_last() else {
            return;
        };
        self.items.insert(target.to_vec());
        let Some(file) = files.iter().find(|file| file.module == module) else {
            return;
        };
        let further = file.reexports.iter();
        for next in further.filter(|next| next.last() == Some(name)) {
            self.follow(files, next);
        }
    }

    fn has(&self, module: &[String], name: &str) -> bool {
        self.items.contains(&[module, &[name.to_owned()]].concat())
    }

    fn has_anywhere(&self, name: &str) -> bool {
        self.items
            .iter()
            .any(|path| path.last().is_some_and(|last| last == name))
    }
}

/// Reads a file from top to bottom, and keeps what stands before an item and around it.
struct Reader<'file> {
    path: &'file str,
    docs: String,
    attributes: String,
    /// Brackets of an attribute that are still open.
    open_brackets: i32,
    /// What of the header of a block has been read.
    header: Option<(usize, String)>,
    blocks: Vec<Block>,
    items: Vec<Item>,
}

/// An `impl` or a public trait: where it starts on the line, and whose it is, if it is not for a trait.
struct Block {
    indent: usize,
    owner: Option<String>,
    is_trait: bool,
}

impl<'file> Reader<'file> {
    fn new(path: &'file str, module: &[String]) -> Self {
        let module = Item {
            path: path.to_owned(),
            line_number: 1,
            kind: Kind::Module,
            owner: None,
            name: module.last().cloned().unwrap_or_default(),
            docs: String::new(),
        };
        Self {
            path,
            docs: String::new(),
            attributes: String::new(),
            open_brackets: 0,
            header: None,
            blocks: Vec::new(),
            items: vec![module],
        }
    }

    fn read(mut self, source: &Source) -> Vec<Item> {
        for line in source
            .lines()
            .iter()
            .filter(|line| line.scope == Scope::Shipped)
        {
            self.line(line);
        }
        self.items
    }

    fn line(&mut self, line: &Line) {
        let comment = line.comment.trim_start();
        let code = line.code.trim();
        if let Some(text) = comment.strip_prefix("//!") {
            add_line(&mut self.items[0].docs, text);
        } else if let Some(text) = comment.strip_prefix("///") {
            add_line(&mut self.docs, text);
        } else if self.open_brackets > 0 || code.starts_with("#[") {
            let count = |mark| i32::try_from(code.matches(mark).count()).unwrap_or(i32::MAX);
            self.open_brackets += count('[') - count(']');
            add_line(&mut self.attributes, code);
        } else if !code.is_empty() {
            self.code(line, code);
            self.docs.clear();
            self.attributes.clear();
        }
    }

    fn code(&mut self, line: &Line, code: &str) {
        let indent = line.code.len() - line.code.trim_start().len();
        let ends = |block: &mut Block| block.indent == indent && code == "}";
        if self.blocks.pop_if(ends).is_some() {
            return;
        }
        if let Some(mut item) = self.item(indent, code) {
            item.line_number = line.number;
            if !self.attributes.contains("doc(hidden)") {
                self.items.push(item);
            }
        }
        let begins = ["impl<", "impl ", "pub trait "]
            .iter()
            .any(|start| code.starts_with(start));
        if begins && self.header.is_none() {
            self.header = Some((indent, String::new()));
        }
        if let Some((_, header)) = &mut self.header {
            add_line(header, code);
            if code.ends_with(['{', '}']) {
                self.open_block();
            }
        }
    }

    fn open_block(&mut self) {
        let Some((indent, header)) = self.header.take() else {
            return;
        };
        if header.trim_end().ends_with('{') {
            self.blocks.push(Block {
                indent,
                owner: owner(&header),
                is_trait: header.starts_with("pub trait "),
            });
        }
    }

    fn item(&self, indent: usize, code: &str) -> Option<Item> {
        let block = self.blocks.last();
        let is_in_trait = block.is_some_and(|block| block.is_trait && block.indent + 4 == indent);
        let declaration = code.strip_prefix("pub ").or(is_in_trait.then_some(code))?;
        let mut words = declaration.split(|c| !is_name(c));
        let kind = match words.find(|word| !["async", "const", "unsafe"].contains(word))? {
            "fn" => Kind::Function,
            "struct" | "enum" | "trait" => Kind::Type,
            "type" if !is_in_trait => Kind::Type,
            _ => return None,
        };
        Some(Item {
            path: self.path.to_owned(),
            line_number: 0,
            kind,
            owner: block.and_then(|block| block.owner.clone()),
            name: words.next()?.to_owned(),
            docs: self.docs.clone(),
        })
    }
}

fn add_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// The type that an `impl` is of, or the trait; none if a trait is implemented.
fn owner(header: &str) -> Option<String> {
    let rest = match header.strip_prefix("pub trait ") {
        Some(rest) => rest,
        None => after_generics(header.strip_prefix("impl")?),
    };
    let path = rest
        .trim_start()
        .split(|c| !is_name(c) && c != ':')
        .next()?;
    let is_of_trait = rest.split("where").next()?.contains(" for ");
    let name = path.rsplit("::").next()?.trim_end_matches(':');
    (!is_of_trait).then(|| name.to_owned())
}

/// What follows the generic parameters a text starts with, if it does.
fn after_generics(text: &str) -> &str {
    let (mut depth, mut before) = (0_i32, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[at + c.len_utf8() * usize::from(c == '>')..];
        }
        before = c;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> = files
            .iter()
            .map(|(inside, text)| (format!("{LIBRARY}{inside}"), *text))
            .collect();
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), *text))
            .collect();
        let items = public_items(&Tree::of(&files));
        let items = items.into_iter().filter(|item| item.kind != Kind::Module);
        items.map(|item| item.whole_name()).collect()
    }

    fn of(text: &str) -> Vec<String> {
        names(&[("lib.rs", text)])
    }

    #[test]
    fn functions_types_and_methods_are_items() {
        assert_eq!(
            of("pub fn f() {}\npub async fn g() {}\npub const fn h() {}"),
            ["f", "g", "h"]
        );
        assert_eq!(
            of("pub struct A;\npub enum B {\n    C,\n}\npub type D = A;"),
            ["A", "B", "D"]
        );
        let methods = "pub struct A;\nimpl<T: Fn() -> u8> A<T>\nwhere\n    T: Send,\n{\n    pub fn f() {}\n    fn g() {}\n}";
        assert_eq!(of(methods), ["A", "A::f"]);
        assert_eq!(
            of("pub trait T {\n    type I;\n    fn f();\n}\nfn g() {}"),
            ["T", "T::f"]
        );
    }

    #[test]
    fn what_is_hidden_private_or_of_a_trait_is_none() {
        assert!(of("#[doc(hidden)]\npub fn f() {}\npub(crate) fn g() {}\nfn h() {}").is_empty());
        assert!(of("#[cfg(test)]\nmod tests {\n    pub fn f() {}\n}").is_empty());
        assert_eq!(
            of("pub struct A;\nimpl Clone for A {\n    fn clone() {}\n}"),
            ["A"]
        );
        assert!(of("struct A;\nimpl A {\n    pub fn f() {}\n}").is_empty());
    }

    #[test]
    fn only_what_a_public_path_leads_to_counts() {
        let inner = (
            "a/b.rs",
            "pub struct X;\npub struct Y;\nimpl X {\n    pub fn f() {}\n}",
        );
        assert!(names(&[("lib.rs", "mod a;"), ("a/mod.rs", "pub mod b;"), inner]).is_empty());
        let open = [("lib.rs", "pub mod a;"), ("a/mod.rs", "pub mod b;"), inner];
        assert_eq!(names(&open), ["X", "Y", "X::f"]);
        let exported = [
            ("lib.rs", "mod a;\npub use a::{\n    X\n};"),
            ("a/mod.rs", "mod b;\npub use b::X;"),
            inner,
        ];
        assert_eq!(names(&exported), ["X", "X::f"]);
        let absolute = [
            ("lib.rs", "pub mod c;"),
            ("c.rs", "pub use crate::a::b::Y;"),
            inner,
        ];
        assert_eq!(names(&absolute), ["Y"]);
    }

    #[test]
    fn documentation_stands_before_attributes_too() {
        let text = "//! Whole.\n/// One.\n#[must_use = \"[\"]\n#[expect(\n    a,\n)]\n// Aside.\n/// Two.\npub fn f() {}\npub fn g() {}";
        let items = public_items(&Tree::of_library_file("lib.rs", text));
        let docs: Vec<&str> = items.iter().map(|item| item.docs.as_str()).collect();
        assert_eq!(docs, [" Whole.\n", " One.\n Two.\n", ""]);
        assert_eq!(items[1].line_number, 9);
    }
}
