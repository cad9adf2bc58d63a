//! The prompt of a hi-boss agent: what the caller gives, then memory (hi-boss reference, "Prompt injection").

use super::scaffold;
use super::{AssembleAnswer, AssembleRequest};
use crate::layout::hi_boss::{AgentName, space_prefix};
use crate::ops::memory::hi_boss::{load, policy_of};
use crate::ops::{moment, presence};
use crate::store::{ListRequest, Metered, Store};
use crate::transform::assemble::{Part, assemble as join};
use crate::transform::manifest::{Manifest, Mode, Stability};
use crate::transform::memory_snapshot::{parts, snapshot};
use crate::types::{Error, Result};

pub(super) fn assemble(store: &dyn Store, request: &AssembleRequest) -> Result<AssembleAnswer> {
    let store = Metered::new(store);
    let agent = AgentName::parse(&request.home.id)?;
    if !request.session_key.is_empty() {
        return Err(Error::invalid(
            "hi-boss has no session keys: session-key must be empty",
        ));
    }
    let (today, yesterday) = moment::days(request.now_ms, request.utc_offset_minutes)?;
    let policy = policy_of(request.budget.as_ref(), None)?;
    let mut problems = Vec::new();
    let loaded = load(&store, &agent, &policy, &mut problems)?;
    let home_exists = loaded.exists || lies_there(&store, &agent)?;
    let taken = snapshot(loaded.long_term.as_ref(), &loaded.days, &policy);
    let mut all = scaffold::parts(request, None);
    let runtime = scaffold::runtime(Vec::new(), &request.runtime);
    let [long_term, daily] = parts(loaded.long_term.as_ref(), &loaded.days, &taken);
    all.extend([long_term, daily]);
    let heading = Some("## Runtime".to_owned());
    all.push(Part::own("Runtime", heading, runtime, Stability::Volatile));
    let assembled = join(all);
    problems.extend(taken.warnings);
    Ok(AssembleAnswer {
        manifest: Manifest {
            home: request.home.clone(),
            session_key: String::new(),
            main: true,
            mode: Mode::Normal,
            today: today.to_string(),
            yesterday: yesterday.to_string(),
            policy: policy.name,
            hash: assembled.hash(),
            length_bytes: assembled.text.len() as u64,
            tokens: assembled.tokens(),
            stable_bytes: assembled.stable_bytes,
            sections: assembled.sections,
        },
        text: assembled.text,
        hidden_skills: Vec::new(),
        problems,
        home_exists,
        cost: store.cost(),
    })
}

/// Whether anything else lies in the space.
fn lies_there(store: &Metered<'_>, agent: &AgentName) -> Result<bool> {
    let listing = store.list(ListRequest {
        prefix: space_prefix(agent),
        limit: Some(1),
        ..ListRequest::default()
    })?;
    Ok(presence::holds_something(&listing))
}
