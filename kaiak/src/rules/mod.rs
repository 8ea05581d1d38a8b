//! Rules in the YAML of Konveyor, the places that they find, and mechanical fixes of these places.
