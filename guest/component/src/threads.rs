//! `haversack:core/threads`.

use haversack_core::ops::threads as core;

use crate::Component;
use crate::convert::{Convert, cases, record};
use crate::exports::haversack::core::threads as wit;
use crate::store::Imported;
use crate::types::result;

impl wit::Guest for Component {
    fn configure(request: wit::ConfigureRequest) -> Result<wit::ConfigureAnswer, wit::Error> {
        result(core::configure(&Imported, &request.convert()))
    }

    fn sandbox(request: wit::SandboxRequest) -> Result<wit::SandboxAnswer, wit::Error> {
        result(core::sandbox(&Imported, &request.convert()))
    }
}

record!(wit::ConfigureRequest => core::ConfigureRequest { home, now_ms });
record!(core::ConfigureAnswer => wit::ConfigureAnswer { configured_ms, created, cost; list problems });

record!(wit::SandboxRequest => core::SandboxRequest { home, user, ticket, root_dir, copies_dir, system_dirs, command });
cases!(core::BindKind => wit::BindKind { System, Skeleton, Copy, Shared });
record!(core::Bind => wit::Bind { host, path, kind });
record!(core::Copied => wit::Copied { prefix, host });
record!(core::SandboxAnswer => wit::SandboxAnswer {
    root, arguments, directories, mount_points, cost; list environment, binds, copies, links
});
