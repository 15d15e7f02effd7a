//! The server's certificate: self-signed on first start, or the administrator's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fleethold_format::crypt::Fingerprint;
use fleethold_format::hash::Sha256;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::auth::key_file::{self, KeyError};
use crate::clock;

/// How long a self-signed certificate is good for. Clients pin its fingerprint, so a short life would only break them.
const LIFETIME: time::Duration = time::Duration::days(3650);

/// TLS could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A PEM file could not be read or parsed.
    #[error("cannot read {what} from {}: {source}", path.display())]
    Pem {
        /// `certificate` or `private key`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: rustls_pki_types::pem::Error,
    },
    /// The file has no certificate in it.
    #[error("no certificate in {}", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Certificate and key do not fit, or rustls cannot use them.
    #[error("cannot serve TLS with {}: {source}", path.display())]
    Rustls {
        /// The certificate file.
        path: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// Making the self-signed certificate failed.
    #[error("cannot make a self-signed certificate: {0}")]
    Generate(#[from] rcgen::Error),
    /// Writing the new key or certificate failed.
    #[error(transparent)]
    Write(#[from] KeyError),
}

/// What the listener needs, and what people check.
pub struct Identity {
    /// For the listener.
    pub config: rustls::ServerConfig,
    /// SHA-256 of the certificate, 32 lower-case hex pairs joined by `:`.
    pub fingerprint: String,
}

/// Where the administrator keeps an own certificate.
#[derive(Debug, Clone)]
pub struct OwnCertificate {
    /// PEM chain, leaf first.
    pub certificate: PathBuf,
    /// PEM private key.
    pub key: PathBuf,
}

/// Loads the administrator's certificate, else the self-signed one in `<state>/tls`, making it when there is none.
///
/// # Errors
/// When a file cannot be read, written, or is not what its name says.
pub fn load(state_dir: &Path, own: Option<&OwnCertificate>, host: &str) -> Result<Identity, TlsError> {
    let files = match own {
        Some(own) => own.clone(),
        None => self_signed(&state_dir.join("tls"), host)?,
    };
    let OwnCertificate {
        certificate: path,
        key,
    } = files;
    let pem = |what, path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::Pem { what, path, source }
    };
    let chain = CertificateDer::pem_file_iter(&path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(pem("certificate", &path))?;
    let private = PrivateKeyDer::from_pem_file(&key).map_err(pem("private key", &key))?;
    let leaf = chain
        .first()
        .ok_or_else(|| TlsError::Empty { path: path.clone() })?;
    let fingerprint = fingerprint(leaf);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private))
        .map_err(|source| TlsError::Rustls { path, source })?;
    Ok(Identity { config, fingerprint })
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let digest = Sha256::digest(certificate);
    Fingerprint(digest).to_string()
}

/// The files of the self-signed certificate, made when one of them is missing.
fn self_signed(folder: &Path, host: &str) -> Result<OwnCertificate, TlsError> {
    let files = OwnCertificate {
        certificate: folder.join("cert.pem"),
        key: folder.join("key.pem"),
    };
    if files.certificate.exists() && files.key.exists() {
        return Ok(files);
    }
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    if !host.is_empty() && host != "localhost" {
        names.push(host.to_owned());
    }
    let mut params = CertificateParams::new(names)?;
    params.not_before = clock::now() - time::Duration::days(1);
    params.not_after = clock::now() + LIFETIME;
    params.distinguished_name.push(
        DnType::CommonName,
        if host.is_empty() { "localhost" } else { host },
    );
    params
        .distinguished_name
        .push(DnType::OrganizationName, "Fleethold");
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    // The key first: a certificate without its key would be taken for a pair after a crash.
    if files.certificate.exists() {
        fs::remove_file(&files.certificate).map_err(|source| {
            TlsError::Write(KeyError::Io {
                action: "replace",
                path: files.certificate.clone(),
                source,
            })
        })?;
    }
    key_file::write_private(&files.key, key.serialize_pem().as_bytes())?;
    key_file::write_private(&files.certificate, certificate.pem().as_bytes())?;
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_certificate_is_kept_and_names_the_host() {
        let dir = tempfile::tempdir().unwrap();
        let first = load(dir.path(), None, "node7").unwrap();
        let second = load(dir.path(), None, "node7").unwrap();
        assert_eq!(first.fingerprint, second.fingerprint);
        assert_eq!(first.fingerprint.len(), 32 * 3 - 1);
        let pem = fs::read(dir.path().join("tls/cert.pem")).unwrap();
        let text = openssl::x509::X509::from_pem(&pem).unwrap().to_text().unwrap();
        let text = String::from_utf8_lossy(&text);
        for name in ["DNS:localhost", "DNS:node7", "IP Address:127.0.0.1"] {
            assert!(text.contains(name), "{name} missing in {text}");
        }
    }

    #[test]
    fn an_unusable_own_certificate_names_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let own = OwnCertificate {
            certificate: dir.path().join("c.pem"),
            key: dir.path().join("k.pem"),
        };
        fs::write(&own.certificate, "nothing").unwrap();
        fs::write(&own.key, "nothing").unwrap();
        let error = load(dir.path(), Some(&own), "node7").err().unwrap().to_string();
        assert!(error.contains("c.pem") || error.contains("k.pem"), "{error}");
    }
}
