//! The one spelling of a JSON document that a signature covers (FORMAT.md §7).

use serde_json::{Map, Value};

use super::ManifestError;

/// Writes `value` with keys sorted by their bytes at every level and no white space; arrays keep their order.
///
/// # Errors
/// [`ManifestError::Null`] with the path of a JSON null, which has no canonical form.
pub fn canonical_json(value: &Value) -> Result<Vec<u8>, ManifestError> {
    let mut out = Vec::new();
    write(value, &mut Vec::new(), &mut out)?;
    Ok(out)
}

/// [`canonical_json`] of an object that is not a [`Value`] yet.
pub(super) fn of_object(object: &Map<String, Value>) -> Result<Vec<u8>, ManifestError> {
    let mut out = Vec::new();
    write_object(object, &mut Vec::new(), &mut out)?;
    Ok(out)
}

/// Recursion is as deep as the document; the JSON parser allows 128 levels.
fn write<'v>(value: &'v Value, path: &mut Vec<&'v str>, out: &mut Vec<u8>) -> Result<(), ManifestError> {
    match value {
        Value::Null => {
            return Err(ManifestError::Null {
                field: path.join("."),
            });
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => serde_json::to_writer(out, value)?,
        Value::Array(elements) => {
            out.push(b'[');
            for (position, element) in elements.iter().enumerate() {
                if position > 0 {
                    out.push(b',');
                }
                write(element, path, out)?;
            }
            out.push(b']');
        }
        Value::Object(object) => write_object(object, path, out)?,
    }
    Ok(())
}

fn write_object<'v>(
    object: &'v Map<String, Value>,
    path: &mut Vec<&'v str>,
    out: &mut Vec<u8>,
) -> Result<(), ManifestError> {
    // Sorted here: whether `Map` sorts depends on a feature that any crate of the build may turn on.
    let mut fields: Vec<_> = object.iter().collect();
    fields.sort_unstable_by_key(|(key, _)| key.as_bytes());
    out.push(b'{');
    for (position, (key, value)) in fields.into_iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        serde_json::to_writer(&mut *out, key)?;
        out.push(b':');
        path.push(key);
        write(value, path, out)?;
        path.pop();
    }
    out.push(b'}');
    Ok(())
}
