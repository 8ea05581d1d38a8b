//! The packages below `javax` that stay when the other packages move to `jakarta`.

/// The packages of Java SE below `javax`, in ascending order. A test compares the list with the installed JDK.
const JAVA_SE: &[&str] = &[
    "javax.accessibility",
    "javax.annotation.processing",
    "javax.crypto",
    "javax.crypto.interfaces",
    "javax.crypto.spec",
    "javax.imageio",
    "javax.imageio.event",
    "javax.imageio.metadata",
    "javax.imageio.plugins.bmp",
    "javax.imageio.plugins.jpeg",
    "javax.imageio.plugins.tiff",
    "javax.imageio.spi",
    "javax.imageio.stream",
    "javax.lang.model",
    "javax.lang.model.element",
    "javax.lang.model.type",
    "javax.lang.model.util",
    "javax.management",
    "javax.management.loading",
    "javax.management.modelmbean",
    "javax.management.monitor",
    "javax.management.openmbean",
    "javax.management.relation",
    "javax.management.remote",
    "javax.management.remote.rmi",
    "javax.management.timer",
    "javax.naming",
    "javax.naming.directory",
    "javax.naming.event",
    "javax.naming.ldap",
    "javax.naming.ldap.spi",
    "javax.naming.spi",
    "javax.net",
    "javax.net.ssl",
    "javax.print",
    "javax.print.attribute",
    "javax.print.attribute.standard",
    "javax.print.event",
    "javax.rmi.ssl",
    "javax.script",
    "javax.security.auth",
    "javax.security.auth.callback",
    "javax.security.auth.kerberos",
    "javax.security.auth.login",
    "javax.security.auth.spi",
    "javax.security.auth.x500",
    "javax.security.cert",
    "javax.security.sasl",
    "javax.smartcardio",
    "javax.sound.midi",
    "javax.sound.midi.spi",
    "javax.sound.sampled",
    "javax.sound.sampled.spi",
    "javax.sql",
    "javax.sql.rowset",
    "javax.sql.rowset.serial",
    "javax.sql.rowset.spi",
    "javax.swing",
    "javax.swing.border",
    "javax.swing.colorchooser",
    "javax.swing.event",
    "javax.swing.filechooser",
    "javax.swing.plaf",
    "javax.swing.plaf.basic",
    "javax.swing.plaf.metal",
    "javax.swing.plaf.multi",
    "javax.swing.plaf.nimbus",
    "javax.swing.plaf.synth",
    "javax.swing.table",
    "javax.swing.text",
    "javax.swing.text.html",
    "javax.swing.text.html.parser",
    "javax.swing.text.rtf",
    "javax.swing.tree",
    "javax.swing.undo",
    "javax.tools",
    "javax.transaction.xa",
    "javax.xml",
    "javax.xml.catalog",
    "javax.xml.crypto",
    "javax.xml.crypto.dom",
    "javax.xml.crypto.dsig",
    "javax.xml.crypto.dsig.dom",
    "javax.xml.crypto.dsig.keyinfo",
    "javax.xml.crypto.dsig.spec",
    "javax.xml.datatype",
    "javax.xml.namespace",
    "javax.xml.parsers",
    "javax.xml.stream",
    "javax.xml.stream.events",
    "javax.xml.stream.util",
    "javax.xml.transform",
    "javax.xml.transform.dom",
    "javax.xml.transform.sax",
    "javax.xml.transform.stax",
    "javax.xml.transform.stream",
    "javax.xml.validation",
    "javax.xml.xpath",
];

/// Packages below `javax` that do not belong to Java SE and have no new name in Jakarta EE: annotations of JSR 305, and
/// JAXR and JAX-RPC, which Jakarta EE 9 has removed. The packages below them have no new name either.
const NOT_MOVED: &[&str] =
    &["javax.annotation.concurrent", "javax.annotation.meta", "javax.xml.registry", "javax.xml.rpc"];

/// Packages whose wildcard imports stay, because only some of the classes in them or below them move.
/// `javax.annotation` also has the classes of JSR 305, which do not move. Only packages below `javax.security`,
/// `javax.management` and `javax.ws` move.
const MIXED: &[&str] = &["javax.annotation", "javax.management", "javax.security", "javax.ws", "javax.xml"];

/// The fate of an import when `javax` moves to `jakarta`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Moves,
    /// The class belongs to Java SE, or has no new name.
    Stays,
    /// A wildcard import of a package that has classes of both kinds.
    Mixed,
}

/// Returns the fate of an import. `name` does not include the wildcard.
pub(crate) fn fate(name: &str, is_wildcard: bool) -> Fate {
    if is_wildcard && MIXED.contains(&name) {
        return Fate::Mixed;
    }
    let package = package(name);
    let is_below =
        |stays: &str| package.strip_prefix(stays).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    if JAVA_SE.binary_search(&package).is_ok() || NOT_MOVED.iter().any(|stays| is_below(stays)) {
        return Fate::Stays;
    }
    Fate::Moves
}

/// Returns the package of a class or of a member: the part before the first name with a capital letter.
fn package(name: &str) -> &str {
    let mut end = 0;
    for part in name.split('.') {
        if part.starts_with(char::is_uppercase) {
            return name.get(..end).unwrap_or_default().trim_end_matches('.');
        }
        end += part.len() + 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::BTreeSet;
    use std::process::{Command, Stdio};

    #[test]
    fn classes_of_java_se_stay() {
        for name in ["javax.xml.parsers.SAXParser", "javax.sql.DataSource", "javax.transaction.xa.XAException"] {
            assert_eq!(fate(name, false), Fate::Stays, "{name}");
        }
        for name in ["javax.xml.bind.JAXBElement", "javax.security.auth.message.AuthStatus", "javax.servlet"] {
            assert_eq!(fate(name, false), Fate::Moves, "{name}");
        }
    }

    #[test]
    fn a_wildcard_of_a_package_with_classes_of_both_kinds_is_mixed() {
        assert_eq!(fate("javax.annotation", true), Fate::Mixed);
        assert_eq!(fate("javax.annotation.Resource", false), Fate::Moves);
        assert_eq!(fate("javax.annotation.concurrent", true), Fate::Stays);
        assert_eq!(fate("javax.transaction", true), Fate::Moves);
    }

    /// Without a JDK, this test compares nothing.
    #[test]
    fn the_list_has_all_packages_that_the_jdk_exports() {
        assert!(JAVA_SE.is_sorted());
        let Ok(output) = Command::new("java").arg("--list-modules").output() else { return };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // The processes run at the same time, because each one takes half a second.
        let describe =
            |module: &str| Command::new("java").args(["--describe-module", module]).stdout(Stdio::piped()).spawn();
        let modules = text.lines().filter(|module| module.starts_with("java."));
        let processes: Vec<_> =
            modules.filter_map(|module| describe(module.split('@').next().unwrap_or_default()).ok()).collect();
        let mut exported = BTreeSet::new();
        for process in processes {
            let Ok(output) = process.wait_with_output() else { return };
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let packages = text.lines().filter_map(|line| line.strip_prefix("exports "));
            exported.extend(packages.filter(|package| package.starts_with("javax.")).map(str::to_owned));
        }
        for package in &exported {
            assert!(JAVA_SE.contains(&package.as_str()), "{package}");
        }
    }
}
