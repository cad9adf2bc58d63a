//! The HOME argument, `SYSTEM:ID`. Whether system and id are good is the component's to say.

use std::str::FromStr;

use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    pub system: String,
    pub id: String,
}

impl FromStr for Home {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some((system, id)) if !system.is_empty() && !id.is_empty() => Ok(Self {
                system: system.to_owned(),
                id: id.to_owned(),
            }),
            _ => Err("a home is SYSTEM:ID, such as gsv:hera".to_owned()),
        }
    }
}

impl Home {
    pub fn to_json(&self) -> Value {
        json!({ "system": self.system, "id": self.id })
    }
}

impl std::fmt::Display for Home {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.system, self.id)
    }
}
