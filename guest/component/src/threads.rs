//! `haversack:core/threads`.

use haversack_core::ops::threads as core;

use crate::Component;
use crate::convert::{Convert, record};
use crate::exports::haversack::core::threads as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn configure(request: wit::ConfigureRequest) -> Result<wit::ConfigureAnswer, wit::Error> {
        result(core::configure(&Imported, &request.convert()))
    }
}

record!(wit::ConfigureRequest => core::ConfigureRequest { home, now_ms });
record!(core::ConfigureAnswer => wit::ConfigureAnswer { configured_ms, created, cost; list problems });
