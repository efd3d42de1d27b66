//! What signs certificates for a test: those of servers, and those of programs that servers know by them.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// An authority whose own certificate is a file in its folder.
pub(crate) struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new(folder: &Path) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        fs::write(
            folder.join("root.pem"),
            params.self_signed(&key).unwrap().pem(),
        )
        .unwrap();
        Self {
            folder: folder.to_owned(),
            issuer: Issuer::new(params, key),
        }
    }

    /// The file with its certificate.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.join("root.pem")
    }

    /// Writes a certificate for a name and its key into files of this stem, and returns them.
    pub(crate) fn sign(&self, stem: &str, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let files = ["pem", "key"].map(|kind| self.folder.join(format!("{stem}.{kind}")));
        let [of_certificate, of_key] = files;
        fs::write(&of_certificate, certificate.pem()).unwrap();
        fs::write(&of_key, key.serialize_pem()).unwrap();
        (of_certificate, of_key)
    }
}
