//! The component.
wit_bindgen::generate!({ path: ["../../wit/store", "../../wit/core"], world: "haversack:core/haversack", stubs });
export!(Stub);
