//! The caller's model as a program: a question on its standard input, its reply on its standard output. Knows
//! no provider; any script that asks one will do.

use std::process::Stdio;

use anyhow::Context;
use clap::Args;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// Far over what a summary may have; a program that never ends its reply is stopped there.
const REPLY_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Args)]
pub struct ModelCommand {
    /// A program that asks a model: the question comes on its standard input, and its standard output is the
    /// reply; any exit code but 0 means that there is none
    #[arg(long, value_name = "CMD")]
    pub model_command: Option<String>,
}

/// Ask. The inner error says why there is no reply.
pub async fn ask(program: &str, question: &str) -> anyhow::Result<Result<String, String>> {
    let mut child = shell(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("starting --model-command")?;
    let mut input = child.stdin.take().context("no pipe to --model-command")?;
    let output = child
        .stdout
        .take()
        .context("no pipe from --model-command")?;
    let asked = async move {
        // A program that does not read to the end may still answer.
        let _ = input.write_all(question.as_bytes()).await;
    };
    let mut reply = Vec::new();
    let mut output = output.take(REPLY_BYTES_MAX + 1);
    let (_, read) = tokio::join!(asked, output.read_to_end(&mut reply));
    read.context("reading the reply of --model-command")?;
    if reply.len() as u64 > REPLY_BYTES_MAX {
        let _ = child.kill().await;
        return Ok(Err(format!(
            "--model-command answered more than {REPLY_BYTES_MAX} bytes"
        )));
    }
    let status = child.wait().await.context("waiting for --model-command")?;
    if !status.success() {
        return Ok(Err(format!("--model-command ended with {status}")));
    }
    Ok(String::from_utf8(reply).map_err(|_| "--model-command answered no UTF-8".to_owned()))
}

fn shell(program: &str) -> Command {
    let (shell, option) = if cfg!(windows) {
        ("cmd", "/C")
    } else {
        ("sh", "-c")
    };
    let mut command = Command::new(shell);
    command.args([option, program]);
    command
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reply_is_what_the_program_prints() {
        let large = "é".repeat(300_000);
        let reply = ask("cat", &large).await.expect("it starts");
        assert_eq!(reply.as_deref(), Ok(large.as_str()));
        let deaf = ask("exec 0<&-; echo yes", &large).await.expect("it starts");
        assert_eq!(deaf.as_deref(), Ok("yes\n"));
    }

    #[tokio::test]
    async fn what_is_no_reply_says_why() {
        for (program, why) in [
            ("echo half; exit 3", "exit status: 3"),
            ("no-such-program-anywhere 2>/dev/null", "127"),
            ("printf '\\377'", "UTF-8"),
            ("yes", "1048576 bytes"),
            ("head -c 1048577 /dev/zero", "1048576 bytes"),
        ] {
            let message = ask(program, "?")
                .await
                .expect("it starts")
                .expect_err(program);
            assert!(message.contains(why), "{program}: {message}");
        }
        let edge = ask("head -c 1048576 /dev/zero", "?")
            .await
            .expect("it starts");
        assert_eq!(edge.map(|reply| reply.len()), Ok(1 << 20));
    }
}
