//! Values of the contract as JSON, and back, by the functions' own types. The form is stated in
//! tests/README.md and is the same on every host. Knows no particular function.

use serde_json::{Map, Number, Value, json};
use wasmtime::component::types::ComponentFunc;
use wasmtime::component::{Type, Val};

/// The version of `haversack:core` that this host speaks.
pub const CONTRACT_VERSION: &str = "0.1.0";

/// The parameters of a call, from an object by parameter name. The message of an error says where in the
/// arguments it is and what is expected there.
pub fn arguments(function: &ComponentFunc, arguments: &Value) -> Result<Vec<Val>, String> {
    let fields = function
        .params()
        .map(|(name, ty)| (name.to_owned(), ty))
        .collect();
    let record = record(fields, arguments, "arguments")?;
    Ok(record.into_iter().map(|(_, value)| value).collect())
}

/// A value of type `ty`. What is left out is none, an empty list or false; what is unknown is an error.
fn to_val(ty: &Type, value: &Value, at: &str) -> Result<Val, String> {
    let wrong = |expected: &str| {
        Err(format!(
            "{at}: expected {expected}, found {}",
            summary(value)
        ))
    };
    let unsigned = |bits: u32| value.as_u64().filter(|n| bits == 64 || *n < 1 << bits);
    let signed = |bits: u32| {
        value
            .as_i64()
            .filter(|n| bits == 64 || (-(1 << (bits - 1))..1 << (bits - 1)).contains(n))
    };
    Ok(match ty {
        Type::Bool => match value {
            Value::Bool(value) => Val::Bool(*value),
            Value::Null => Val::Bool(false),
            _ => return wrong("true or false"),
        },
        Type::U8 => match unsigned(8) {
            Some(n) => Val::U8(n as u8),
            None => return wrong("a whole number from 0 to 255"),
        },
        Type::U32 => match unsigned(32) {
            Some(n) => Val::U32(n as u32),
            None => return wrong("a whole number from 0 to 4294967295"),
        },
        Type::U64 => match unsigned(64) {
            Some(n) => Val::U64(n),
            None => return wrong("a whole number that is not negative"),
        },
        Type::S32 => match signed(32) {
            Some(n) => Val::S32(n as i32),
            None => return wrong("a whole number of 32 bits"),
        },
        Type::String => match value {
            Value::String(text) => Val::String(text.clone()),
            _ => return wrong("a string"),
        },
        Type::List(list) => match value {
            Value::Array(items) => {
                let item = |(index, item)| to_val(&list.ty(), item, &format!("{at}[{index}]"));
                Val::List(
                    items
                        .iter()
                        .enumerate()
                        .map(item)
                        .collect::<Result<_, _>>()?,
                )
            }
            Value::Null => Val::List(Vec::new()),
            _ => return wrong("a list"),
        },
        Type::Tuple(tuple) => match value {
            Value::Array(items) if items.len() == tuple.types().len() => {
                let item = |(index, (ty, item))| to_val(&ty, item, &format!("{at}[{index}]"));
                Val::Tuple(
                    tuple
                        .types()
                        .zip(items)
                        .enumerate()
                        .map(item)
                        .collect::<Result<_, _>>()?,
                )
            }
            _ => return wrong(&format!("a list of {}", tuple.types().len())),
        },
        Type::Record(ty) => {
            let fields = ty
                .fields()
                .map(|field| (field.name.to_owned(), field.ty))
                .collect();
            Val::Record(record(fields, value, at)?)
        }
        Type::Option(option) => match value {
            Value::Null => Val::Option(None),
            value => Val::Option(Some(Box::new(to_val(&option.ty(), value, at)?))),
        },
        Type::Enum(ty) => match value
            .as_str()
            .filter(|name| ty.names().any(|known| known == *name))
        {
            Some(name) => Val::Enum(name.to_owned()),
            None => {
                return wrong(&format!(
                    "one of {}",
                    ty.names().collect::<Vec<_>>().join(", ")
                ));
            }
        },
        Type::Variant(ty) => {
            let (name, payload) = match value {
                Value::String(name) => (name.as_str(), None),
                Value::Object(map) if map.len() == 1 => match map.iter().next() {
                    Some((name, payload)) => (name.as_str(), Some(payload)),
                    None => return wrong("a case"),
                },
                _ => ("", None),
            };
            let names = || {
                ty.cases()
                    .map(|case| case.name.to_owned())
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let Some(case) = ty.cases().find(|case| case.name == name) else {
                return wrong(&format!("one of the cases {}", names()));
            };
            match (case.ty, payload) {
                (None, None) => Val::Variant(name.to_owned(), None),
                (Some(ty), Some(payload)) => {
                    let payload = to_val(&ty, payload, &format!("{at}.{name}"))?;
                    Val::Variant(name.to_owned(), Some(Box::new(payload)))
                }
                (None, Some(_)) => return wrong(&format!("the case {name:?} without a value")),
                (Some(_), None) => return wrong(&format!("a value for the case: {{{name:?}: …}}")),
            }
        }
        // The contract's exports take no other type; tests/tidy.rs would see one that they do.
        _ => return wrong("a type that this host's JSON form has no words for"),
    })
}

fn record(
    fields: Vec<(String, Type)>,
    value: &Value,
    at: &str,
) -> Result<Vec<(String, Val)>, String> {
    let empty = Map::new();
    let members = match value {
        Value::Object(members) => members,
        Value::Null => &empty,
        _ => {
            return Err(format!(
                "{at}: expected an object, found {}",
                summary(value)
            ));
        }
    };
    if let Some(unknown) = members
        .keys()
        .find(|name| !fields.iter().any(|(field, _)| field == *name))
    {
        let known: Vec<_> = fields.iter().map(|(name, _)| name.as_str()).collect();
        return Err(format!(
            "{at}: there is no member {unknown:?}; there are {}",
            known.join(", ")
        ));
    }
    fields
        .into_iter()
        .map(|(name, ty)| {
            let member = members.get(&name).unwrap_or(&Value::Null);
            let value = to_val(&ty, member, &format!("{at}.{name}"))?;
            Ok((name, value))
        })
        .collect()
}

fn summary(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".into(),
        value => value.to_string(),
    }
}

/// A value as JSON.
pub fn from_val(value: &Val) -> Value {
    match value {
        Val::Bool(value) => json!(value),
        Val::S8(n) => json!(n),
        Val::U8(n) => json!(n),
        Val::S16(n) => json!(n),
        Val::U16(n) => json!(n),
        Val::S32(n) => json!(n),
        Val::U32(n) => json!(n),
        Val::S64(n) => json!(n),
        Val::U64(n) => json!(n),
        Val::Float32(n) => Number::from_f64(f64::from(*n)).map_or(Value::Null, Value::Number),
        Val::Float64(n) => Number::from_f64(*n).map_or(Value::Null, Value::Number),
        Val::Char(character) => json!(character),
        Val::String(text) => json!(text),
        Val::List(items) | Val::Tuple(items) | Val::FixedLengthList(items) => {
            items.iter().map(from_val).collect()
        }
        Val::Record(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), from_val(value)))
                .collect(),
        ),
        Val::Variant(name, None) | Val::Enum(name) => json!(name),
        Val::Variant(name, Some(payload)) => json!({ name: from_val(payload) }),
        Val::Option(value) => value.as_deref().map_or(Value::Null, from_val),
        Val::Result(Ok(value)) => json!({ "ok": value.as_deref().map_or(Value::Null, from_val) }),
        Val::Result(Err(error)) => {
            json!({ "error": error.as_deref().map_or(Value::Null, from_val) })
        }
        Val::Flags(names) => json!(names),
        // Handles have no JSON form, and the contract has none.
        Val::Map(_) | Val::Resource(_) | Val::Future(_) | Val::Stream(_) | Val::ErrorContext(_) => {
            Value::Null
        }
    }
}
