//! Standard Webhooks signatures: HMAC-SHA256 over `id.timestamp.body`, so that a receiver can tell our messages from
//! anybody's and refuse old ones. While secrets rotate there is one signature for each, and a receiver takes any.
//! Signs only; refuses weak secrets rather than sign with them.

use super::secret::SecretSource;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use sha2::Sha256;
use std::fmt;

/// A secret that webhooks are signed with: 24 to 64 bytes.
pub struct SigningKey(SecretSlice<u8>);

/// Why a text is no signing secret. Says nothing of the text itself (P7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadSigningKey {
    /// Not base64 behind the optional `whsec_`.
    NotBase64,
    /// Decodes to this many bytes.
    Length(usize),
}

impl fmt::Display for BadSigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadSigningKey::NotBase64 => f.write_str("it is not `whsec_` followed by base64"),
            BadSigningKey::Length(bytes) => {
                write!(f, "it decodes to {bytes} bytes; 24 to 64 are needed")
            }
        }
    }
}

impl std::error::Error for BadSigningKey {}

impl SigningKey {
    /// Decodes `whsec_` + base64; the prefix may be missing.
    ///
    /// # Errors
    /// Where it is not base64, or not 24 to 64 bytes.
    pub fn decode(text: &SecretString) -> Result<Self, BadSigningKey> {
        let text = text.expose_secret();
        let bytes = STANDARD
            .decode(text.strip_prefix("whsec_").unwrap_or(text))
            .map_err(|_| BadSigningKey::NotBase64)?;
        match bytes.len() {
            24..=64 => Ok(Self(SecretSlice::from(bytes))),
            length => Err(BadSigningKey::Length(length)),
        }
    }

    /// `v1,` and the base64 of the MAC.
    fn sign(&self, id: &str, unix_seconds: i64, body: &[u8]) -> Option<String> {
        // HMAC takes keys of every length; the type does not know.
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.expose_secret()).ok()?;
        mac.update(format!("{id}.{unix_seconds}.").as_bytes());
        mac.update(body);
        Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
    }
}

/// The key in a secret from there, or why it can't be used, in words that may be shown.
pub(super) fn signing_key(
    source: &SecretSource,
    secret: &SecretString,
) -> Result<SigningKey, String> {
    SigningKey::decode(secret)
        .map_err(|error| format!("the signing secret from {source} cannot be used: {error}"))
}

/// The value of `webhook-signature`: a signature for each key, in their order; `None` without keys.
pub fn header(keys: &[SigningKey], id: &str, unix_seconds: i64, body: &[u8]) -> Option<String> {
    let signatures: Vec<String> =
        keys.iter().filter_map(|key| key.sign(id, unix_seconds, body)).collect();
    (!signatures.is_empty()).then(|| signatures.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
    const ID: &str = "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk";
    const BODY: &[u8] = br#"{"email":"test@example.com","username":"test_user"}"#;
    const SIGNATURE: &str = "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=";

    fn key(text: &str) -> Result<SigningKey, BadSigningKey> {
        SigningKey::decode(&SecretString::from(text))
    }

    #[test]
    fn the_published_vector_holds() {
        let keys = [key(SECRET).unwrap()];
        assert_eq!(header(&keys, ID, 1_649_367_553, BODY).as_deref(), Some(SIGNATURE));
    }

    #[test]
    fn while_secrets_rotate_each_signs() {
        let other = format!("whsec_{}", STANDARD.encode([7_u8; 64]));
        let keys = [key(&other).unwrap(), key(SECRET).unwrap()];
        let value = header(&keys, ID, 1_649_367_553, BODY).unwrap();
        let signatures: Vec<&str> = value.split(' ').collect();
        assert_eq!(signatures.len(), 2);
        assert_eq!(signatures[1], SIGNATURE);
        assert_ne!(signatures[0], SIGNATURE);
    }

    #[test]
    fn weak_and_garbled_secrets_are_refused_without_being_shown() {
        assert_eq!(key("whsec_not base64!").err(), Some(BadSigningKey::NotBase64));
        assert_eq!(key("whsec_c2hvcnQ=").err(), Some(BadSigningKey::Length(5)));
        let long = STANDARD.encode([0_u8; 65]);
        assert_eq!(key(&long).err(), Some(BadSigningKey::Length(65)));
        assert!(!key("whsec_not base64!").err().unwrap().to_string().contains("not base64!"));
    }

    #[test]
    fn without_keys_there_is_no_header() {
        assert_eq!(header(&[], ID, 0, BODY), None);
    }
}
