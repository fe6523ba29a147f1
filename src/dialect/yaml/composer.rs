//! A reader of YAML, value by value. It limits the memory of each value, including its aliases.

use std::collections::{HashMap, HashSet};
use std::io::{BufReader, Read};

use granit_parser::{
    ErrorKind, Event, FallibleBufferedInput, InputIoError, Marker, Parser, ScalarStyle, Tag,
};

use super::node::{CollectionShape, CoreType, ValueStyle, YamlNode, YamlScalar};
use super::quoted_lines::QuotedLines;

/// The deepest nesting of lists and maps, including aliases.
const DEPTH_LIMIT: usize = 512;

/// The memory limit of all values with an anchor together.
const ANCHORS_LIMIT: usize = 16 << 20;

/// The memory limit of all aliases of a file together.
const ALIASES_LIMIT: usize = 512 << 20;

/// The memory of a value in addition to its text.
const NODE_COST: usize = 16;

const TOO_DEEP: &str = "it is nested too deeply";

const MULTIPLIED: &str = "its aliases multiply to more than is read of one file";

const NAMESPACE: &str = "tag:yaml.org,2002:";

/// Why YAML cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum YamlError {
    /// It is not YAML, or contains something unsupported.
    #[error("{0}")]
    Form(String),
    /// One value needs too much memory.
    #[error("it takes more memory than is given to one file")]
    TooLarge,
    /// The input could not be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// Reads the values of a file one by one.
pub(crate) struct YamlComposer<R: Read> {
    events: Parser<'static, FallibleBufferedInput<Characters<R>>>,
    /// The values that aliases may repeat, as far as they fit into the limit.
    anchors: HashMap<usize, MeasuredNode>,
    anchors_cost: usize,
    aliases_cost: usize,
    /// The memory limit of one value.
    room: usize,
    /// The position of the last event.
    place: (usize, usize),
}

/// A value with its memory and its depth.
#[derive(Clone)]
struct MeasuredNode {
    node: YamlNode,
    cost: usize,
    depth: usize,
}

/// A list or map that is not complete yet.
struct Open {
    piece: MeasuredNode,
    /// A key whose value comes next.
    key: Option<YamlNode>,
    anchor: usize,
}

impl Open {
    fn new(node: YamlNode, anchor: usize) -> Self {
        Self { piece: MeasuredNode { node, cost: NODE_COST, depth: 1 }, key: None, anchor }
    }

    /// Adds the next value to it.
    fn push(&mut self, piece: MeasuredNode) {
        self.piece.cost += piece.cost;
        self.piece.depth = self.piece.depth.max(piece.depth + 1);
        match &mut self.piece.node {
            YamlNode::List(items, _) => items.push(piece.node),
            YamlNode::Map(members, _) => match self.key.take() {
                Some(key) => members.push((key, piece.node)),
                None => self.key = Some(piece.node),
            },
            YamlNode::Scalar(_) => {}
        }
    }
}

impl<R: Read> YamlComposer<R> {
    /// Returns a reader of values that need at most `room` bytes each.
    pub(crate) fn new(input: R, room: usize) -> Self {
        let characters = Characters::new(input);
        Self {
            events: Parser::new_from_fallible_iter(characters),
            anchors: HashMap::new(),
            anchors_cost: 0,
            aliases_cost: 0,
            room,
            place: (0, 0),
        }
    }

    /// Returns the next event.
    pub(crate) fn next(&mut self) -> Result<Event<'static>, YamlError> {
        let Some(next) = self.events.next_event() else { return Ok(Event::StreamEnd) };
        let (event, span) = next.map_err(|error| match error.kind() {
            ErrorKind::InputIo { error } => YamlError::Io(std::io::Error::other(error.to_string())),
            kind => error_at(place_of(error.marker()), &kind.to_string()),
        })?;
        self.place = place_of(&span.start);
        Ok(event)
    }

    /// Returns an error at the last event.
    pub(crate) fn problem(&self, text: &str) -> YamlError {
        error_at(self.place, text)
    }

    /// Returns the position of the last event: line and column.
    pub(crate) fn place(&self) -> (usize, usize) {
        self.place
    }

    /// Reads the value that begins with this event.
    pub(crate) fn compose(&mut self, first: Event<'static>) -> Result<YamlNode, YamlError> {
        let mut stack: Vec<Open> = Vec::new();
        let (mut room, mut event) = (self.room, first);
        loop {
            let whole = match event {
                Event::Scalar(text, style, anchor, tag) => {
                    let cost = text.len() + NODE_COST;
                    room = room.checked_sub(cost).ok_or(YamlError::TooLarge)?;
                    let style = style_of(&text, style, tag.as_deref());
                    let node = YamlNode::scalar(text.into_owned(), style);
                    self.keep_anchored(MeasuredNode { node, cost, depth: 0 }, anchor)
                }
                Event::Alias(anchor) => {
                    let piece = self.repeat_alias(anchor, room)?;
                    room -= piece.cost;
                    piece
                }
                Event::SequenceStart(_, anchor, tag) => {
                    let node = YamlNode::List(Vec::new(), shape_of(tag.as_deref()));
                    event = self.open(&mut stack, &mut room, Open::new(node, anchor))?;
                    continue;
                }
                Event::MappingStart(_, anchor, tag) => {
                    let node = YamlNode::Map(Vec::new(), shape_of(tag.as_deref()));
                    event = self.open(&mut stack, &mut room, Open::new(node, anchor))?;
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    let ended = stack.pop();
                    let Open { piece: MeasuredNode { node, cost, depth }, anchor, .. } =
                        ended.ok_or_else(|| self.problem("a list or map ends where none began"))?;
                    let node = resolve_merge_keys(node)
                        .map_err(|text| self.problem(text))?
                        .with_python_text();
                    self.keep_anchored(MeasuredNode { node, cost, depth }, anchor)
                }
                _ => return Err(self.problem("it may be cut: a list or map does not end")),
            };
            if stack.len() + whole.depth > DEPTH_LIMIT {
                return Err(self.problem(TOO_DEEP));
            }
            let Some(open) = stack.last_mut() else { return Ok(whole.node) };
            open.push(whole);
            event = self.next()?;
        }
    }

    /// Begins a list or map. Returns the next event.
    fn open(
        &mut self,
        stack: &mut Vec<Open>,
        room: &mut usize,
        open: Open,
    ) -> Result<Event<'static>, YamlError> {
        *room = room.checked_sub(NODE_COST).ok_or(YamlError::TooLarge)?;
        stack.push(open);
        if stack.len() > DEPTH_LIMIT {
            return Err(self.problem(TOO_DEEP));
        }
        self.next()
    }

    /// Stores a value for its aliases, if it has an anchor.
    fn keep_anchored(&mut self, piece: MeasuredNode, anchor: usize) -> MeasuredNode {
        if anchor != 0 {
            self.anchors_cost = self.anchors_cost.saturating_add(piece.cost);
            if self.anchors_cost <= ANCHORS_LIMIT {
                self.anchors.insert(anchor, piece.clone());
            }
        }
        piece
    }

    /// Returns the value of an alias, if it needs at most `room` bytes.
    fn repeat_alias(&mut self, anchor: usize, room: usize) -> Result<MeasuredNode, YamlError> {
        let Some(piece) = self.anchors.get(&anchor) else {
            return Err(self.problem(match self.anchors_cost > ANCHORS_LIMIT {
                true => MULTIPLIED,
                false => "an alias is inside the value that it repeats",
            }));
        };
        self.aliases_cost = self.aliases_cost.saturating_add(piece.cost);
        if piece.cost > room || self.aliases_cost > ALIASES_LIMIT {
            return Err(self.problem(MULTIPLIED));
        }
        Ok(piece.clone())
    }
}

fn place_of(marker: &Marker) -> (usize, usize) {
    (marker.line(), marker.col() + 1)
}

/// Returns an error at a line and a column.
pub(crate) fn error_at((line, column): (usize, usize), text: &str) -> YamlError {
    YamlError::Form(format!("{text} at line {line}, column {column}"))
}

/// Whether YAML 1.1, which has more line breaks, reads a scalar as another text. PyYAML and Ruby
/// write these line breaks literally, followed by the indentation of the next line. In double
/// quotes they are escaped.
fn is_ambiguous(text: &str, style: ScalarStyle) -> bool {
    let is_break = |c: char| matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}');
    if style == ScalarStyle::DoubleQuoted || text.is_ascii() {
        return false;
    }
    let is_blank = |c: Option<char>| c.is_some_and(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
    text.match_indices(is_break).any(|(at, found)| {
        let (before, behind) = (&text[..at], &text[at + found.len()..]);
        is_blank(before.chars().next_back()) || is_blank(behind.chars().next())
    })
}

fn style_of(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> ValueStyle {
    let kind = tag.map(type_of);
    match kind.as_deref() {
        // `!` alone means that it is a text.
        None | Some("" | "!" | "str" | "python/str" | "python/unicode")
            if is_ambiguous(text, style) =>
        {
            ValueStyle::Ambiguous
        }
        None if style == ScalarStyle::Plain => ValueStyle::Plain,
        None | Some("" | "!" | "str" | "python/str" | "python/unicode") => ValueStyle::Text,
        Some("binary" | "python/bytes") => ValueStyle::Base64,
        Some("null" | "python/none") => ValueStyle::Tagged(CoreType::Null),
        Some("bool" | "python/bool") => ValueStyle::Tagged(CoreType::Bool),
        Some("int" | "python/int" | "python/long") => ValueStyle::Tagged(CoreType::Int),
        Some("float" | "python/float") => ValueStyle::Tagged(CoreType::Float),
        Some(_) => ValueStyle::Foreign,
    }
}

fn shape_of(tag: Option<&Tag>) -> CollectionShape {
    let Some(tag) = tag else { return CollectionShape::Usual };
    match type_of(tag).as_str() {
        "" | "!" | "map" | "seq" | "python/dict" | "python/list" | "python/tuple" => {
            CollectionShape::Usual
        }
        name if is_python_text(name) => CollectionShape::PythonText,
        _ => CollectionShape::Foreign,
    }
}

/// Whether a tag names a class of Python that is a text, such as `multidict.istr`.
fn is_python_text(name: &str) -> bool {
    let class = name
        .strip_prefix("python/object/apply:")
        .or_else(|| name.strip_prefix("python/object/new:"))
        .and_then(|path| path.rsplit('.').next());
    class.is_some_and(|class| class.to_ascii_lowercase().ends_with("str"))
}

/// Returns the type that a tag names, without the prefix of YAML's own tags.
fn type_of(tag: &Tag) -> String {
    let whole = format!("{}{}", tag.handle(), tag.suffix());
    let name = whole.strip_prefix(NAMESPACE).or_else(|| whole.strip_prefix('!'));
    name.unwrap_or(&whole).to_owned()
}

/// Resolves `<<` in a map. The map's own members win, then those that are named first.
fn resolve_merge_keys(node: YamlNode) -> Result<YamlNode, &'static str> {
    let is_merge = |key: &YamlNode| matches!(key, YamlNode::Scalar(YamlScalar { text, style: ValueStyle::Plain }) if text == "<<");
    let (members, shape) = match node {
        YamlNode::Map(members, shape) if members.iter().any(|(key, _)| is_merge(key)) => {
            (members, shape)
        }
        other => return Ok(other),
    };
    let (merges, own): (Vec<_>, Vec<_>) = members.into_iter().partition(|(key, _)| is_merge(key));
    let name = |key: &YamlNode| match key {
        YamlNode::Scalar(YamlScalar { text, .. }) => Some(text.clone()),
        YamlNode::List(..) | YamlNode::Map(..) => None,
    };
    let mut known: HashSet<Option<String>> = own.iter().map(|(key, _)| name(key)).collect();
    let mut all = Vec::new();
    for (_, value) in merges {
        let maps = match value {
            YamlNode::List(maps, _) => maps,
            map => vec![map],
        };
        for map in maps {
            let YamlNode::Map(members, _) = map else {
                return Err("`<<` names something that is not a map");
            };
            all.extend(members.into_iter().filter(|(key, _)| known.insert(name(key))));
        }
    }
    all.extend(own);
    Ok(YamlNode::Map(all, shape))
}

/// The characters of a UTF-8 file.
struct Characters<R: Read> {
    input: BufReader<R>,
    ended: bool,
    lines: QuotedLines,
    /// A character that comes after this many blanks.
    waiting: Option<(usize, char)>,
}

impl<R: Read> Characters<R> {
    fn new(input: R) -> Self {
        let (input, lines) = (BufReader::new(input), QuotedLines::new());
        Self { input, ended: false, lines, waiting: None }
    }

    /// Returns the next byte, if there is one.
    fn next_byte(&mut self) -> Option<Result<u8, ErrorKind>> {
        let mut byte = [0];
        loop {
            return match self.input.read(&mut byte) {
                Ok(0) => None,
                Ok(_) => Some(Ok(byte[0])),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => Some(Err(ErrorKind::InputIo { error: InputIoError::from_io(error) })),
            };
        }
    }

    fn next_character(&mut self) -> Option<Result<char, ErrorKind>> {
        let first = match self.next_byte()? {
            Ok(byte @ 0..0x80) => return Some(Ok(char::from(byte))),
            Ok(byte) => byte,
            Err(error) => return Some(Err(error)),
        };
        let mut bytes = vec![first];
        let length = match first {
            0xC0..0xE0 => 2,
            0xE0..0xF0 => 3,
            _ => 4,
        };
        while bytes.len() < length {
            match self.next_byte() {
                Some(Ok(byte)) => bytes.push(byte),
                Some(Err(error)) => return Some(Err(error)),
                None => break,
            }
        }
        let read = std::str::from_utf8(&bytes).ok().and_then(|text| text.chars().next());
        let message = "it is not UTF-8".to_owned();
        Some(read.ok_or(ErrorKind::InputDecoding { message }))
    }
}

impl<R: Read> Iterator for Characters<R> {
    type Item = Result<char, ErrorKind>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some((blanks, character)) = self.waiting.take() {
            let Some(left) = blanks.checked_sub(1) else { return Some(Ok(character)) };
            self.waiting = Some((left, character));
            return Some(Ok(' '));
        }
        if self.ended {
            return None;
        }
        let next = self.next_character();
        self.ended = !matches!(next, Some(Ok(_)));
        if let Some(Ok(character)) = next
            && let Some(left) = self.lines.blanks_before(character).checked_sub(1)
        {
            self.waiting = Some((left, character));
            return Some(Ok(' '));
        }
        next
    }
}
