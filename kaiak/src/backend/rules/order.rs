//! The order in which the incidents of a request are fixed.

use std::collections::HashMap;

use crate::protocol::Incident;

/// Returns the indices of the incidents in the order in which they are fixed. The incidents of one file are fixed from
/// its end, because a fix may move the lines below its place.
pub(super) fn order(incidents: &[Incident]) -> Vec<usize> {
    let mut by_file: HashMap<&str, Vec<(u32, usize)>> = HashMap::new();
    for (index, incident) in incidents.iter().enumerate() {
        if let (Some(uri), Some(line)) = (&incident.uri, incident.line_number) {
            by_file.entry(uri).or_default().push((line, index));
        }
    }
    let mut order: Vec<usize> = (0..incidents.len()).collect();
    for places in by_file.into_values() {
        let mut lines = places.clone();
        lines.sort_by_key(|(line, _)| std::cmp::Reverse(*line));
        for ((_, place), (_, index)) in places.into_iter().zip(lines) {
            if let Some(entry) = order.get_mut(place) {
                *entry = index;
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::order;
    use crate::protocol::Incident;

    fn incident(uri: Option<&str>, line: Option<u32>) -> Incident {
        let text = String::new;
        let uri = uri.map(str::to_owned);
        Incident {
            id: text(),
            rule_id: text(),
            message: text(),
            description: text(),
            effort: text(),
            severity: text(),
            uri,
            line_number: line,
        }
    }

    #[test]
    fn the_incidents_of_one_file_are_fixed_from_its_end() {
        let incidents = [
            incident(Some("a"), Some(3)),
            incident(None, None),
            incident(Some("a"), Some(9)),
            incident(Some("b"), Some(1)),
            incident(Some("a"), Some(5)),
            incident(Some("a"), None),
        ];
        assert_eq!(order(&incidents), [2, 1, 4, 3, 0, 5]);
    }
}
