//! As much of an HTTP client as the tests need: one connection, requests one after the other. Knows no API.

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

pub struct Client(BufReader<TcpStream>);

pub struct Reply {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find_map(|(known, value)| (known == name).then_some(value.as_str()))
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The code of an error.
    pub fn code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

impl Client {
    pub async fn to(address: &str) -> anyhow::Result<Self> {
        Ok(Client(BufReader::new(TcpStream::connect(address).await?)))
    }

    pub async fn get(&mut self, path: &str) -> anyhow::Result<Reply> {
        self.send("GET", path, "").await
    }

    /// `headers` end in a line end each.
    pub async fn send(&mut self, method: &str, path: &str, headers: &str) -> anyhow::Result<Reply> {
        self.ask(method, path, headers).await?;
        let (status, headers) = self.head().await?;
        let mut reply = Reply {
            status,
            headers,
            body: Vec::new(),
        };
        while method != "HEAD"
            && let Some(part) = self.part(&reply).await?
        {
            reply.body.extend(part);
            if reply.header("content-length").is_some() {
                break;
            }
        }
        Ok(reply)
    }

    pub async fn ask(&mut self, method: &str, path: &str, headers: &str) -> anyhow::Result<()> {
        let request = format!("{method} {path} HTTP/1.1\r\nhost: test\r\n{headers}\r\n");
        Ok(self.0.write_all(request.as_bytes()).await?)
    }

    pub async fn head(&mut self) -> anyhow::Result<(u16, Vec<(String, String)>)> {
        let line = self.line().await?;
        let status = line.split(' ').nth(1).context("a status")?.parse()?;
        let mut headers = Vec::new();
        loop {
            let line = self.line().await?;
            match line.split_once(": ") {
                Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
                None => return Ok((status, headers)),
            }
        }
    }

    /// All of a body that has a length, or the next chunk; none at the end.
    pub async fn part(&mut self, reply: &Reply) -> anyhow::Result<Option<Vec<u8>>> {
        let length = match reply.header("content-length") {
            Some(length) => length.parse()?,
            None => usize::from_str_radix(&self.line().await?, 16)?,
        };
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).await?;
        if reply.header("content-length").is_none() && !self.line().await?.is_empty() {
            bail!("a chunk has no end");
        }
        Ok((length > 0).then_some(bytes))
    }

    async fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        if self.0.read_line(&mut line).await? == 0 {
            bail!("the connection ended");
        }
        Ok(line.trim_end().to_owned())
    }
}
