//! What stands outside of routines: classes with their members in Java, functions and variables in C.

use sintonia_text::near::nearest;

use super::walk::{Step, Walk, stop};
use super::words::{Kind, MODIFIERS_OF_JAVA, Tongue, Word};

const CLASSES: [&str; 4] = ["class", "interface", "enum", "record"];

impl<'t> Walk<'t> {
    /// The whole text.
    pub(super) fn file(&mut self) -> Step {
        while self.peek().kind != Kind::End {
            if self.peek().is("}") {
                return stop(self.unexpected("the end of the file").hint("there is no `{` for this `}`"));
            }
            match self.tongue {
                Tongue::Java => self.of_file()?,
                Tongue::C => self.external()?,
            }
        }
        Ok(())
    }

    /// A function, a type or variables of a C file.
    fn external(&mut self) -> Step {
        let word = self.peek();
        if word.kind == Kind::Reserved && self.tongue.begins_statement(word.text) {
            return stop(
                self.unexpected("a function or a declaration").hint("the function before has ended already: is there a `}` too many?"),
            );
        }
        self.untyped()?;
        self.until_semicolon()
    }

    /// A declaration that has modifiers, but no type.
    pub(super) fn untyped(&mut self) -> Step {
        let modifiers = (0..).take_while(|ahead| self.tongue.is_modifier(self.peek_at(*ahead).text)).count();
        let (name, next) = (self.peek_at(modifiers), self.peek_at(modifiers + 1));
        let shouted = name.text.starts_with('_') || name.text.chars().all(|letter| !letter.is_lowercase());
        if modifiers > 0 && name.kind == Kind::Name && !shouted && next.is_one_of(&["=", ";", ",", "("]) {
            return stop(self.wrong(name.at, format!("expected a type before {}", name.shown())));
        }
        Ok(())
    }

    /// A class or an import of a Java file.
    fn of_file(&mut self) -> Step {
        self.modifiers()?;
        let (word, after) = (self.peek(), self.peek_at(1));
        if word.is_one_of(&["import", "package", ";"]) {
            while !self.peek().is(";") {
                let dotted = self.peek().kind == Kind::Name || self.peek().is_one_of(&["import", "package", "static", ".", "*"]);
                if !dotted || self.peek().first && self.peek().at != word.at {
                    return stop(self.missing("`;`"));
                }
                self.take();
            }
            self.take();
            return Ok(());
        }
        if self.begins_class() {
            return self.class();
        }
        let leads = after.kind == Kind::Reserved && (self.tongue.is_modifier(after.text) || CLASSES.contains(&after.text));
        if word.kind == Kind::Name && (leads || after.kind == Kind::Name && self.peek_at(2).is("{")) {
            let near = nearest(word.text, MODIFIERS_OF_JAVA.into_iter().chain(CLASSES));
            let wrong = self.unexpected("a class");
            return stop(match near {
                Some(near) => wrong.hint(format!("did you mean `{near}`?")),
                None => wrong,
            });
        }
        self.member("")
    }

    /// Goes on behind modifiers and annotations.
    pub(super) fn modifiers(&mut self) -> Step {
        loop {
            if self.peek().is("@") {
                self.take();
                self.take();
                while self.peek().is(".") {
                    self.take();
                    self.take();
                }
                if self.peek().is("(") {
                    self.skip()?;
                }
            } else if self.peek().is("non") && self.peek_at(1).is("-") {
                self.take();
                self.take();
            } else if self.tongue.is_modifier(self.peek().text) || self.peek().is_one_of(&["default", "sealed"]) {
                self.take();
            } else {
                return Ok(());
            }
        }
    }

    fn begins_class(&self) -> bool {
        let word = self.peek();
        let record = word.is("record") && self.peek_at(1).kind == Kind::Name && self.peek_at(2).is_one_of(&["(", "<"]);
        word.is_one_of(&["class", "interface", "enum", "@interface"]) || record
    }

    fn class(&mut self) -> Step {
        let what = self.take();
        let name = self.peek();
        if name.kind != Kind::Name {
            return stop(self.unexpected(&format!("the name of the {}", what.text)));
        }
        while !self.peek().is("{") {
            match self.peek() {
                word if word.is("(") => self.skip()?,
                word if word.kind == Kind::End || word.is_one_of(&[";", "}", "=", ")"]) => return stop(self.unexpected("`{`")),
                _ => drop(self.take()),
            }
        }
        // Constants of an enumeration look like nothing else.
        if what.is("enum") || what.is("@interface") {
            return self.skip();
        }
        self.deeper(|walk| walk.block(|walk| walk.member(name.text)))
    }

    /// A field, a method or a class in a class of this name.
    fn member(&mut self, class: &str) -> Step {
        if self.peek().is("static") && self.peek_at(1).is("{") {
            self.take();
        }
        if self.peek().is("{") {
            return self.code();
        }
        self.modifiers()?;
        let word = self.peek();
        if word.is(";") {
            self.take();
            return Ok(());
        }
        if self.begins_class() {
            return self.class();
        }
        if word.kind == Kind::Reserved && !self.tongue.is_type(word.text) {
            let hint = "statements stand in methods: is there a `}` too many before this?";
            return stop(self.unexpected("a field or a method").hint(hint));
        }
        let begin = self.next;
        let names = self.names();
        match (names.as_slice(), self.peek()) {
            (_, next) if !next.is_one_of(&["(", "=", ";", ",", "{"]) => self.badly_ended(&names),
            ([name], next) if name.text == class && next.is("{") => self.code(),
            (_, next) if next.is("{") => stop(self.unexpected("`(`, `=` or `;`")),
            ([name], next) if name.text != class || !next.is("(") => {
                let wrong = self.wrong(name.at, format!("expected a type before {}", name.shown()));
                stop(if next.is("(") { wrong.hint("a method has the type of what it returns, or `void`") } else { wrong })
            }
            ([first, _, _, ..], _) => stop(self.no_modifier(*first)),
            (_, next) if next.is("(") => self.method(),
            _ => {
                self.next = begin;
                self.until_semicolon()
            }
        }
    }

    /// The words of a type and a name, without what the type has in brackets.
    fn names(&mut self) -> Vec<Word<'t>> {
        let (mut names, mut open, mut qualified) = (Vec::new(), 0usize, false);
        loop {
            let word = self.peek();
            match word.text {
                "<" => open += 1,
                ">" | ">>" | ">>>" => open = open.saturating_sub(word.text.len()),
                "." | "[" | "]" | "?" | "&" | "@" => {}
                "," if open > 0 => {}
                _ if open > 0 && word.kind != Kind::Sign && word.kind != Kind::End => {}
                _ if word.kind == Kind::Name || self.tongue.is_type(word.text) => {
                    if !qualified {
                        names.push(word);
                    }
                }
                _ => return names,
            }
            qualified = word.is(".") || word.is("@");
            self.take();
        }
    }

    fn no_modifier(&self, first: Word<'t>) -> crate::error::Wrong {
        let wrong = self.wrong(first.at, format!("expected a modifier or a type, found {}", first.shown()));
        match nearest(first.text, MODIFIERS_OF_JAVA) {
            Some(near) => wrong.hint(format!("did you mean `{near}`?")),
            None => wrong,
        }
    }

    /// A member that is neither a method nor a field.
    fn badly_ended(&self, names: &[Word<'t>]) -> Step {
        match names {
            [] => stop(self.unexpected("a field or a method")),
            [first, ..] if self.peek().kind == Kind::Reserved => stop(self.no_modifier(*first)),
            _ => stop(self.missing("`(`, `=` or `;`")),
        }
    }

    fn method(&mut self) -> Step {
        let begin = self.next + 1;
        self.parentheses(None)?;
        self.parameters(begin, self.next - 1)?;
        while self.peek().is_one_of(&["[", "]", "throws", ",", "."]) || self.peek().kind == Kind::Name {
            self.take();
        }
        match self.peek() {
            word if word.is("{") => self.code(),
            word if word.is(";") => {
                self.take();
                Ok(())
            }
            word if word.is("default") => self.until_semicolon(),
            _ => stop(self.unexpected("`{` or `;`")),
        }
    }

    /// Each parameter between two words has a type and a name.
    fn parameters(&self, begin: usize, end: usize) -> Step {
        let (mut open, mut part) = (0usize, Vec::new());
        for word in &self.words[begin..=end] {
            match word.text {
                "<" | "(" => open += 1,
                ">" | ">>" | ">>>" => open = open.saturating_sub(word.text.len()),
                ")" if open > 0 => open -= 1,
                "," | ")" if open == 0 => {
                    if let [alone] = part.as_slice() {
                        let alone: &Word<'t> = alone;
                        return stop(self.wrong(alone.at, format!("expected a type and a name, found {}", alone.shown())));
                    }
                    part.clear();
                }
                _ if open == 0 && (word.kind == Kind::Name || self.tongue.is_type(word.text)) => part.push(*word),
                _ => {}
            }
        }
        Ok(())
    }
}
