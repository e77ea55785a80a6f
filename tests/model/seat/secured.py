"""Certificates of an authority of our own, made for a test."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Authority:
    """An authority's certificate (PEM), and one that it gave to a host with its key."""

    file: Path
    served: Path

    @classmethod
    def made_in(cls, folder: Path, host: str = "127.0.0.1") -> Authority:
        """Both, written to a folder."""
        key, name = ec.generate_private_key(ec.SECP256R1()), _name("a test's authority")
        root = _certificate(name, name, key, key, x509.BasicConstraints(ca=True, path_length=0))
        own = ec.generate_private_key(ec.SECP256R1())
        at = x509.IPAddress(ipaddress.ip_address(host)) if host[0].isdigit() else x509.DNSName(host)
        leaf = _certificate(_name(host), name, own, key, x509.SubjectAlternativeName([at]))
        (folder / "ca.pem").write_bytes(root)
        secret = own.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (folder / "served.pem").write_bytes(leaf + secret)
        return cls(folder / "ca.pem", folder / "served.pem")

    def context(self) -> ssl.SSLContext:
        """What the host serves with."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.served)
        return context


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signed_by: ec.EllipticCurvePrivateKey,
    extension: x509.ExtensionType,
) -> bytes:
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).add_extension(extension, critical=False)
    builder = builder.not_valid_before(now - datetime.timedelta(days=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=1))
    return builder.sign(signed_by, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
