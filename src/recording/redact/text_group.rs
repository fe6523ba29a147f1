//! Grouping the pieces of a stream that are searched together.

use foldhash::HashMap as FastMap;

use super::text_channel::EventString;

/// Groups the pieces of each text, in order. A string that is not a piece is alone.
pub(super) fn by_channel(leaves: &[EventString]) -> Vec<Vec<&EventString>> {
    let mut channels: Vec<(Option<u64>, Vec<&EventString>)> = Vec::new();
    let mut known: FastMap<u64, usize> = FastMap::default();
    for leaf in leaves {
        let Some(channel) = leaf.channel else {
            channels.push((None, vec![leaf]));
            continue;
        };
        let at = *known.entry(channel.indexed).or_insert(channels.len());
        match channels.get_mut(at) {
            Some((_, pieces)) => pieces.push(leaf),
            None => channels.push((Some(channel.place), vec![leaf])),
        }
    }
    // For each place: the number of its channels, and the total number of their pieces.
    let mut counts: FastMap<u64, (usize, usize)> = FastMap::default();
    for (place, pieces) in &channels {
        if let Some(place) = place {
            let (channels, all) = counts.entry(*place).or_default();
            *channels += 1;
            *all += pieces.len();
        }
    }
    // An index that changes with nearly every event only counts events. It separates nothing.
    let counts_events =
        |place: &u64| counts.get(place).is_some_and(|(channels, pieces)| pieces < &(2 * channels));
    let mut out: Vec<Vec<&EventString>> = Vec::with_capacity(channels.len());
    let mut places: FastMap<u64, usize> = FastMap::default();
    for (place, pieces) in channels {
        let Some(place) = place.filter(counts_events) else {
            out.push(pieces);
            continue;
        };
        let at = *places.entry(place).or_insert(out.len());
        match out.get_mut(at) {
            Some(known) => known.extend(pieces),
            None => out.push(pieces),
        }
    }
    out.iter_mut().for_each(|pieces| pieces.sort_by_key(|leaf| leaf.text.range.start));
    out
}

/// Groups the pieces that share a name but are in different groups of [`by_channel`]. A text may
/// continue at another place, under another index, or in an event of another type.
pub(super) fn by_name<'a>(groups: &[Vec<&'a EventString>]) -> Vec<Vec<&'a EventString>> {
    let name = |pieces: &Vec<&EventString>| Some(pieces.first()?.channel?.name);
    let mut named: FastMap<u64, Vec<usize>> = FastMap::default();
    for (at, pieces) in groups.iter().enumerate() {
        if let Some(name) = name(pieces) {
            named.entry(name).or_default().push(at);
        }
    }
    let join = |of_name: Vec<usize>| {
        let mut pieces: Vec<&EventString> =
            of_name.iter().flat_map(|at| groups[*at].clone()).collect();
        pieces.sort_by_key(|leaf| leaf.text.range.start);
        pieces
    };
    named.into_values().filter(|of_name| of_name.len() > 1).map(join).collect()
}
