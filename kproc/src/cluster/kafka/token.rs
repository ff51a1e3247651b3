//! Tokens for the mechanism OAUTHBEARER.

use std::{error::Error, fmt, sync::Arc, time::SystemTime};

type Outcome = Result<Token, Box<dyn Error + Send + Sync>>;

/// A token to log in with by OAUTHBEARER. `Debug` does not show it.
#[derive(Clone)]
#[non_exhaustive]
pub struct Token {
    /// What is sent to the brokers, such as a JWT.
    pub value: String,
    /// When it ends. Four fifths of the way there a new one is asked for.
    pub expires: SystemTime,
    /// Whom it is for; brokers take that from the token itself, so that any name will do.
    pub principal: String,
    /// SASL extensions (RFC 7628), such as `logicalCluster`.
    pub extensions: Vec<(String, String)>,
}

impl Token {
    /// A token without extensions.
    pub fn new(value: impl Into<String>, expires: SystemTime) -> Self {
        Self {
            value: value.into(),
            expires,
            principal: "kproc".into(),
            extensions: Vec::new(),
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("expires", &self.expires)
            .field("principal", &self.principal)
            .finish_non_exhaustive()
    }
}

/// Where tokens come from: called for each client when it is made, and whenever a token is about to end, on a thread
/// that may wait. After an error it is called again ten seconds later.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use kproc::cluster::kafka::{Token, TokenProvider};
///
/// let provider = TokenProvider::new(|| {
///     let token = std::env::var("MY_TOKEN")?;
///     Ok(Token::new(token, SystemTime::now() + Duration::from_secs(3600)))
/// });
/// ```
#[derive(Clone)]
pub struct TokenProvider(Arc<dyn Fn() -> Outcome + Send + Sync>);

impl TokenProvider {
    /// Tokens are what this returns.
    pub fn new(
        provide: impl Fn() -> Result<Token, Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(provide))
    }

    /// The next token.
    pub(super) fn token(&self) -> Outcome {
        (self.0)()
    }
}

impl fmt::Debug for TokenProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenProvider")
    }
}
