//! `haversack:core/facts`.

use haversack_core::ops::facts as core;

use crate::Component;
use crate::convert::{Convert, record};
use crate::exports::haversack::core::facts as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn write(request: wit::WriteRequest) -> Result<wit::WriteAnswer, wit::Error> {
        result(core::write(&Imported, &request.convert()))
    }

    fn list(
        home: wit::Home,
        task: Option<String>,
        continue_from: Option<String>,
    ) -> Result<wit::ListAnswer, wit::Error> {
        let (task, from) = (task.as_deref(), continue_from.as_deref());
        result(core::list(&Imported, &home.convert(), task, from))
    }

    fn read(home: wit::Home, key: String) -> Result<wit::ReadAnswer, wit::Error> {
        result(core::read(&Imported, &home.convert(), &key))
    }
}

record!(wit::WriteRequest => core::WriteRequest {
    home, task, request_id, at_ms, at_ns, pid, run, title, name, body
});
record!(core::WriteAnswer => wit::WriteAnswer { key, repeat, cost });
record!(core::FactEntry => wit::FactEntry { key, created_at, scope, run_id, title, size_bytes });
record!(core::ListAnswer => wit::ListAnswer { continue_from, cost; list facts, problems });
record!(core::ReadAnswer => wit::ReadAnswer { fact, body, version, cost });
