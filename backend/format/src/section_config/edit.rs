//! Changes of a file as text: what a change does not touch stays byte for byte, white space and unknown properties included.

use std::ops::Range;

use super::{Section, SectionConfig, SectionConfigError, parse_header, parse_property, trim};

/// A file to be changed line by line.
#[derive(Debug, Clone)]
pub struct SectionEdit {
    /// Each with its line break; only the last may lack one.
    lines: Vec<String>,
}

impl SectionEdit {
    /// Begins with a file as it stands.
    ///
    /// # Errors
    /// [`SectionConfigError`] with the line, when the file is none.
    pub fn parse(text: &str) -> Result<Self, SectionConfigError> {
        SectionConfig::parse(text)?;
        let lines = text.split_inclusive('\n').map(str::to_owned).collect();
        Ok(Self { lines })
    }

    /// The file as it is now.
    #[must_use]
    pub fn text(&self) -> String {
        self.lines.concat()
    }

    /// Whether there is a section with this id.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        self.section(id).is_some()
    }

    /// Adds a section at the end.
    ///
    /// # Errors
    /// [`SectionConfigError::DuplicateSection`] when the id is taken, [`SectionConfigError::Unwritable`].
    pub fn add(&mut self, section: &Section) -> Result<(), SectionConfigError> {
        if let Some(there) = self.section(&section.id) {
            return Err(SectionConfigError::DuplicateSection {
                line: self.lines.len() + 1,
                first: there.start + 1,
                id: section.id.clone(),
            });
        }
        let one = SectionConfig {
            sections: vec![section.clone()],
        };
        let text = one.write()?;
        self.end_last_line();
        if self.lines.last().is_some_and(|line| !trim(line).is_empty()) {
            self.lines.push("\n".to_owned());
        }
        self.lines.extend(text.split_inclusive('\n').map(str::to_owned));
        Ok(())
    }

    /// Removes a section with the blank line behind it; whether it was there.
    pub fn remove(&mut self, id: &str) -> bool {
        let Some(Range { mut start, mut end }) = self.section(id) else {
            return false;
        };
        if self.is_blank(end) {
            end += 1;
        } else if start > 0 && self.is_blank(start - 1) {
            // The last section: the blank line before it separates nothing any more.
            start -= 1;
        }
        self.lines.drain(start..end);
        true
    }

    /// Sets a property that may stand once, in its old place or at the end of its section; whether anything changed.
    ///
    /// # Errors
    /// [`SectionConfigError::Unwritable`].
    pub fn set(&mut self, id: &str, key: &str, value: &str) -> Result<bool, SectionConfigError> {
        let Some(section) = self.section(id) else {
            return Ok(false);
        };
        let mut checked = Section::new("checked", id);
        checked.set(key, value);
        checked.check_writable()?;
        let line = format!("\t{key} {value}\n");
        let Some(at) = self.property(&section, key) else {
            self.end_last_line();
            self.lines.insert(section.end, line);
            return Ok(true);
        };
        match self.lines.get_mut(at) {
            Some(old) if parse_property(old.trim_end_matches(['\r', '\n'])) != Some((key, value)) => {
                *old = line;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Removes a property; whether it was there.
    pub fn unset(&mut self, id: &str, key: &str) -> bool {
        let mut found = false;
        while let Some(at) = self.section(id).and_then(|section| self.property(&section, key)) {
            self.lines.remove(at);
            found = true;
        }
        found
    }

    /// The lines of a section: its header and its properties.
    fn section(&self, id: &str) -> Option<Range<usize>> {
        let mut at = 0;
        while at < self.lines.len() {
            let start = at;
            at += 1;
            let header = self.lines.get(start).and_then(|line| parse_header(trim(line)));
            while header.is_some() && at < self.lines.len() && !self.is_blank(at) {
                at += 1;
            }
            if header.is_some_and(|(_, found)| found == id) {
                return Some(start..at);
            }
        }
        None
    }

    fn property(&self, section: &Range<usize>, key: &str) -> Option<usize> {
        (section.start + 1..section.end).find(|at| {
            let line = self
                .lines
                .get(*at)
                .map(|line| line.trim_end_matches(['\r', '\n']));
            line.and_then(parse_property)
                .is_some_and(|(found, _)| found == key)
        })
    }

    fn is_blank(&self, at: usize) -> bool {
        self.lines.get(at).is_some_and(|line| trim(line).is_empty())
    }

    fn end_last_line(&mut self) {
        if let Some(last) = self.lines.last_mut()
            && !last.ends_with('\n')
        {
            last.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "user: ann@pbs\n    comment  two  blanks\n\tfuture  thing \n\n\n\nfuture: x\r\n\tkey value\r\n\nuser: bob@pbs";

    fn edit(text: &str) -> SectionEdit {
        SectionEdit::parse(text).unwrap()
    }

    #[test]
    fn what_is_not_touched_stays_byte_for_byte() {
        let mut file = edit(TEXT);
        assert_eq!(file.text(), TEXT);
        assert!(file.contains("x") && !file.contains("future"));
        assert!(
            !file.set("ann@pbs", "comment", "two  blanks").unwrap(),
            "is so already"
        );
        assert_eq!(file.text(), TEXT);
        assert!(file.set("ann@pbs", "enable", "false").unwrap());
        assert!(file.set("ann@pbs", "comment", "new").unwrap());
        assert!(file.set("bob@pbs", "expire", "7").unwrap());
        assert!(file.set("x", "key", "other").unwrap());
        let expected = TEXT
            .replace("    comment  two  blanks\n", "\tcomment new\n")
            .replace("thing \n", "thing \n\tenable false\n")
            .replace("\tkey value\r\n", "\tkey other\n")
            + "\n\texpire 7\n";
        assert_eq!(file.text(), expected);
        assert!(file.unset("ann@pbs", "enable") && !file.unset("ann@pbs", "enable"));
        assert!(!file.set("nobody", "a", "b").unwrap());
    }

    #[test]
    fn sections_come_and_go_with_their_blank_line() {
        let mut file = edit("a: one\n\tk v\n\na: two\n\na: three\n");
        assert!(file.remove("two") && !file.remove("two"));
        assert_eq!(file.text(), "a: one\n\tk v\n\na: three\n");
        assert!(file.remove("three"));
        assert_eq!(file.text(), "a: one\n\tk v\n");
        let mut section = Section::new("a", "four");
        section.set("k", "v");
        file.add(&section).unwrap();
        assert_eq!(file.text(), "a: one\n\tk v\n\na: four\n\tk v\n");
        assert!(matches!(
            file.add(&section),
            Err(SectionConfigError::DuplicateSection { first: 4, .. })
        ));
        assert!(file.remove("one") && file.remove("four"));
        assert_eq!(file.text(), "");
        file.add(&section).unwrap();
        assert_eq!(
            SectionConfig::parse(&file.text()).unwrap().write().unwrap(),
            file.text()
        );
    }

    #[test]
    fn what_would_not_be_read_back_is_refused() {
        let mut file = edit("a: one\n");
        for value in ["", " x", "x\ny", "x\r"] {
            assert!(matches!(
                file.set("one", "k", value),
                Err(SectionConfigError::Unwritable { .. })
            ));
        }
        assert!(file.add(&Section::new("a", "")).is_err());
        assert!(SectionEdit::parse("nonsense").is_err());
        assert_eq!(file.text(), "a: one\n");
    }
}
