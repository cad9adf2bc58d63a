//! Credentials, region and endpoint of buckets: from what the caller names, the AWS environment
//! variables, or a profile file. Shows no secret, sends nothing, knows no bucket.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::check::error;
use super::{Error, ErrorCode};

/// A profile file larger than this is none.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What signs requests. Its `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub access_key_id: String,
    pub secret_access_key: String,
    pub session_token: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(hidden)")
    }
}

/// What the caller names beyond the environment; it goes before everything else.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// A section of the profile files. Where it is named, the environment's keys do not count.
    pub profile: Option<String>,
    /// Instead of `~/.aws/credentials`.
    pub credentials_file: Option<PathBuf>,
    /// Its secret comes from the environment all the same.
    pub access_key_id: Option<String>,
}

/// What was found. Endpoint and region are none where nobody says them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub credentials: Credentials,
    pub endpoint: Option<String>,
    pub region: Option<String>,
}

/// A section of a profile file.
type Profile = BTreeMap<String, String>;

/// Look where AWS's own tools look. `environment` answers variables, the home directory among them.
pub fn find(named: &Named, environment: &dyn Fn(&str) -> Option<String>) -> Result<Found, Error> {
    let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
    let home = |file: &str| variable("HOME").map(|home| Path::new(&home).join(".aws").join(file));
    let profile_named = named.profile.clone().or_else(|| variable("AWS_PROFILE"));
    let profile_name = profile_named.as_deref().unwrap_or("default");

    let credentials_file = match &named.credentials_file {
        Some(path) => Some(path.clone()),
        None => variable("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from),
    };
    let config_file = variable("AWS_CONFIG_FILE").map(PathBuf::from);
    let mut profile = Profile::new();
    for (file, usual, section) in [
        (config_file, "config", format!("profile {profile_name}")),
        (credentials_file, "credentials", profile_name.to_owned()),
    ] {
        // One that a variable names may be missing, as with AWS's own tools; one of the caller's not.
        let must_exist = usual == "credentials" && named.credentials_file.is_some();
        let Some(path) = file.or_else(|| home(usual)) else {
            continue;
        };
        let Some(text) = read(&path, must_exist)? else {
            continue;
        };
        for (name, members) in sections(&text) {
            if name == section || name == profile_name {
                profile.extend(members);
            }
        }
    }
    if profile.is_empty() && profile_named.is_some() {
        return Err(error(
            ErrorCode::Invalid,
            format!("no profile {profile_name:?} in the AWS profile files; name one that is there"),
        ));
    }

    let own = |member: &str| {
        let profile = named.profile.as_ref().map(|_| &profile)?;
        profile.get(member).cloned()
    };
    Ok(Found {
        credentials: credentials(named, &variable, profile_name, &profile)?,
        // As with its keys: a profile that was named goes before the environment.
        endpoint: own("endpoint_url")
            .or_else(|| variable("AWS_ENDPOINT_URL_S3"))
            .or_else(|| variable("AWS_ENDPOINT_URL"))
            .or_else(|| profile.get("endpoint_url").cloned()),
        region: own("region")
            .or_else(|| variable("AWS_REGION"))
            .or_else(|| variable("AWS_DEFAULT_REGION"))
            .or_else(|| profile.get("region").cloned()),
    })
}

fn credentials(
    named: &Named,
    variable: &dyn Fn(&str) -> Option<String>,
    profile_name: &str,
    profile: &Profile,
) -> Result<Credentials, Error> {
    let id = match (&named.access_key_id, &named.profile) {
        (Some(_), Some(_)) => {
            return Err(error(
                ErrorCode::Invalid,
                "--access-key-id and --profile both say who signs; leave one out",
            ));
        }
        (Some(id), None) => Some(id.clone()),
        (None, Some(_)) => None,
        (None, None) => variable("AWS_ACCESS_KEY_ID"),
    };
    if let Some(access_key_id) = id {
        let secret = variable("AWS_SECRET_ACCESS_KEY").ok_or_else(|| {
            error(
                ErrorCode::Denied,
                "an access key id without its secret: set AWS_SECRET_ACCESS_KEY, or use a profile",
            )
        })?;
        return checked(Credentials {
            access_key_id,
            secret_access_key: secret,
            session_token: variable("AWS_SESSION_TOKEN"),
        });
    }
    let member = |name: &str| profile.get(name).cloned();
    match (member("aws_access_key_id"), member("aws_secret_access_key")) {
        (Some(access_key_id), Some(secret_access_key)) => checked(Credentials {
            access_key_id,
            secret_access_key,
            session_token: member("aws_session_token"),
        }),
        _ if profile.is_empty() => Err(error(
            ErrorCode::Denied,
            "no credentials for the bucket: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name \
             a profile with --profile",
        )),
        _ => Err(error(
            ErrorCode::Denied,
            format!(
                "profile {profile_name:?} has no aws_access_key_id and aws_secret_access_key (roles, \
                 sign-on and processes are not followed); export keys of it into the environment"
            ),
        )),
    }
}

/// They go into headers, where a stray line end would be worse than a wrong key.
fn checked(credentials: Credentials) -> Result<Credentials, Error> {
    let token = credentials.session_token.as_deref().unwrap_or("x");
    for (what, value) in [
        ("access key id", credentials.access_key_id.as_str()),
        ("secret access key", &credentials.secret_access_key),
        ("session token", token),
    ] {
        if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(error(
                ErrorCode::Invalid,
                format!("the {what} is not printable ASCII without spaces; copy it again"),
            ));
        }
    }
    Ok(credentials)
}

fn read(path: &Path, must_exist: bool) -> Result<Option<String>, Error> {
    let failed = |cause: String| {
        error(
            ErrorCode::Denied,
            format!("the profile file {}: {cause}", path.display()),
        )
    };
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound && !must_exist => {
            return Ok(None);
        }
        Err(cause) => return Err(failed(cause.to_string())),
    };
    let mut text = String::new();
    let read = file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
    match read {
        Ok(size) if size as u64 > FILE_BYTES_MAX => Err(failed("over 1 MiB".to_owned())),
        Ok(_) => Ok(Some(text)),
        Err(cause) => Err(failed(cause.to_string())),
    }
}

/// Sections and their members. Indented lines belong to a member's inner table and are passed over.
fn sections(text: &str) -> Vec<(String, Profile)> {
    let mut found: Vec<(String, Profile)> = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with(['#', ';']) || line.starts_with([' ', '\t']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.split(']').next().unwrap_or_default();
            let words: Vec<_> = name.split_whitespace().collect();
            found.push((words.join(" "), Profile::new()));
        } else if let (Some((_, members)), Some((name, value))) =
            (found.last_mut(), line.split_once('='))
        {
            members.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# a comment
[default]
aws_access_key_id = id-default
aws_secret_access_key=hush-default
[ work ]
aws_access_key_id = id-work
aws_secret_access_key = hush=work
aws_session_token = token-work
region = eu-central-1
s3 =
  endpoint_url = inner
endpoint_url = https://s3.example
[role]
role_arn = arn:x
";

    fn with(
        named: Named,
        variables: &[(&str, &str)],
    ) -> Result<(Credentials, Option<String>, Option<String>), String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("credentials");
        std::fs::write(&file, FILE).unwrap();
        let mut all: BTreeMap<String, String> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let path = file.display().to_string();
        all.entry("AWS_SHARED_CREDENTIALS_FILE".to_owned())
            .or_insert(path);
        find(&named, &|name| all.get(name).cloned())
            .map(|found| (found.credentials, found.endpoint, found.region))
            .map_err(|error| error.message)
    }

    fn profile(name: &str) -> Named {
        Named {
            profile: Some(name.to_owned()),
            ..Named::default()
        }
    }

    const KEYS: [(&str, &str); 2] = [
        ("AWS_ACCESS_KEY_ID", "id-env"),
        ("AWS_SECRET_ACCESS_KEY", "hush-env"),
    ];

    #[test]
    fn who_signs() {
        let mut env_profile = KEYS.to_vec();
        env_profile.push(("AWS_PROFILE", "work"));
        let flag = Named {
            access_key_id: Some("id-flag".to_owned()),
            ..Named::default()
        };
        for (named, variables, id, secret) in [
            (Named::default(), &[][..], "id-default", "hush-default"),
            (Named::default(), &KEYS, "id-env", "hush-env"),
            (Named::default(), &env_profile, "id-env", "hush-env"),
            (profile("work"), &KEYS, "id-work", "hush=work"),
            (flag, &KEYS, "id-flag", "hush-env"),
            (
                Named::default(),
                &[("AWS_PROFILE", "work")],
                "id-work",
                "hush=work",
            ),
        ] {
            let (found, ..) = with(named.clone(), variables).unwrap();
            assert_eq!(found.access_key_id, id, "{named:?} {variables:?}");
            assert_eq!(found.secret_access_key, secret, "{named:?} {variables:?}");
        }
    }

    #[test]
    fn where_to() {
        let (found, endpoint, region) = with(profile("work"), &[]).unwrap();
        assert_eq!(found.session_token.as_deref(), Some("token-work"));
        assert_eq!(endpoint.as_deref(), Some("https://s3.example"));
        assert_eq!(region.as_deref(), Some("eu-central-1"));
        let variables = [
            ("AWS_ENDPOINT_URL", "https://all"),
            ("AWS_ENDPOINT_URL_S3", "https://s3"),
            ("AWS_DEFAULT_REGION", "default"),
        ];
        let (_, endpoint, region) = with(Named::default(), &variables).unwrap();
        assert_eq!(endpoint.as_deref(), Some("https://s3"));
        assert_eq!(region.as_deref(), Some("default"));
        // A copy between two accounts names a profile for each end.
        let (_, endpoint, region) = with(profile("work"), &variables).unwrap();
        assert_eq!(endpoint.as_deref(), Some("https://s3.example"));
        assert_eq!(region.as_deref(), Some("eu-central-1"));
    }

    #[test]
    fn what_is_missing_is_said_and_what_is_secret_is_not() {
        let both = Named {
            access_key_id: Some("id".to_owned()),
            ..profile("work")
        };
        let id_alone = [("AWS_ACCESS_KEY_ID", "id-env")];
        let no_file = Named {
            credentials_file: Some("/nowhere/credentials".into()),
            ..Named::default()
        };
        let broken = [KEYS[0], ("AWS_SECRET_ACCESS_KEY", "hush\nhush")];
        for (named, variables, word) in [
            (profile("nobody"), &[][..], "nobody"),
            (profile("role"), &[], "roles"),
            (both, &[], "--profile"),
            (Named::default(), &id_alone, "AWS_SECRET_ACCESS_KEY"),
            (no_file, &KEYS, "/nowhere/credentials"),
            (Named::default(), &broken, "secret access key"),
        ] {
            let message = with(named, variables).unwrap_err();
            assert!(message.contains(word), "{word}: {message}");
            assert!(!message.contains("hush"), "{message}");
        }
        let nothing = find(&Named::default(), &|_| None).unwrap_err().message;
        assert!(nothing.contains("AWS_ACCESS_KEY_ID"), "{nothing}");
        let shown = format!("{:?}", with(profile("work"), &[]).unwrap().0);
        assert!(!shown.contains("work"), "{shown}");
    }
}
