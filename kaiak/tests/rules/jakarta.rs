//! Tests of the rules in `rules/jakarta`: with a servlet application that `javac` compiles, and with imports that
//! Tomcat's migration tool renames.
//!
//! If the JDK, the JARs of Jakarta EE or the tool are missing, the tests that need them do nothing. `cargo xtask test
//! --only kaiak` installs them and sets `KAIAK_NEEDS_PROGRAMS`, so that their absence is a failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kaiak::rules::{FixOptions, FixPlan, RuleSet, find};
use kaiak::workspace::Workspace;
use tempfile::TempDir;

use crate::project::snapshot;

const JARS: [&str; 2] = ["/usr/share/java/jakarta-servlet-api.jar", "/usr/share/java/jakarta-annotation-api.jar"];

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rules() -> RuleSet {
    let (rules, warnings) = RuleSet::load(&[package().join("rules/jakarta")]).unwrap();
    assert_eq!(warnings, []);
    rules
}

/// Returns whether a test can use a program and files. If `KAIAK_NEEDS_PROGRAMS` is set, they must exist.
fn has(program: &str, files: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_found = std::env::split_paths(&path).any(|folder| folder.join(program).exists())
        && files.iter().all(|file| Path::new(file).exists());
    assert!(is_found || std::env::var_os("KAIAK_NEEDS_PROGRAMS").is_none(), "{program} and {files:?} must exist");
    is_found
}

fn copy(from: &Path, to: &Path) {
    for (path, bytes) in snapshot(from) {
        let target = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, bytes).unwrap();
    }
}

/// Copies the application to a temporary folder.
fn application() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("visits");
    copy(&package().join("tests/data/visits"), &root);
    (folder, root)
}

/// Fixes the files below a folder. Returns the places that are not fixed, with the reasons.
fn fix(root: &Path) -> Vec<String> {
    let workspace = Workspace::open_default(root).unwrap();
    let plan = FixPlan::of_all_rules(&rules(), &workspace, FixOptions::default()).unwrap();
    for proposal in &plan.proposals {
        workspace.apply(proposal).unwrap();
    }
    plan.left.iter().map(ToString::to_string).collect()
}

fn javac(root: &Path) -> Output {
    let sources = snapshot(root).into_iter().map(|(path, _)| path);
    let sources = sources.filter(|path| path.extension().is_some_and(|extension| extension == "java"));
    let out = root.parent().unwrap().join("classes");
    let mut command = Command::new("javac");
    command.arg("-d").arg(out).args(["-Xlint:all", "-proc:none", "-cp", &JARS.join(":")]).args(sources);
    command.output().unwrap()
}

#[test]
fn javac_compiles_the_application_with_the_jars_of_jakarta_only_after_the_fixes() {
    if !has("javac", &JARS) {
        return;
    }
    let (_folder, root) = application();
    let before = javac(&root);
    assert!(!before.status.success());
    assert!(String::from_utf8_lossy(&before.stderr).contains("package javax.servlet does not exist"));
    assert_eq!(fix(&root), [""; 0]);
    let after = javac(&root);
    assert!(after.status.success(), "{}", String::from_utf8_lossy(&after.stderr));
}

#[test]
fn the_application_is_fixed_except_for_a_version_that_is_a_property() {
    let (_folder, root) = application();
    assert_eq!(fix(&root), [""; 0]);
    let workspace = Workspace::open_default(&root).unwrap();
    // The version of this dependency is a property, so that the rules cannot change it.
    let incidents = find(&rules(), &workspace).unwrap().incidents;
    let places: Vec<_> = incidents.iter().map(|incident| (&*incident.rule_id, incident.path.as_str())).collect();
    assert_eq!(places, [("jakarta-dependency-property", "pom.xml")]);
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let pom = read("pom.xml");
    assert!(pom.contains("<artifactId>jakarta.servlet-api</artifactId>\n      <version>5.0.0</version>"));
    assert!(
        pom.contains("javax.measure")
            && pom.contains("<artifactId>javax.annotation-api</artifactId>")
            && pom.contains("<version>2.1<")
    );
    let web = read("src/main/webapp/WEB-INF/web.xml");
    assert!(web.contains("https://jakarta.ee/xml/ns/jakartaee/web-app_5_0.xsd\"\n         version=\"5.0\">"), "{web}");
    assert!(web.contains("javax.sql.DataSource") && web.contains("<?xml version=\"1.0\""));
    let persistence = read("src/main/resources/META-INF/persistence.xml");
    assert!(persistence.contains("<persistence version=\"3.0\" xmlns=\"https://jakarta.ee/xml/ns/persistence\">"));
    assert!(persistence.contains("\"jakarta.persistence.schema-generation"));
    let properties = read("src/main/resources/visits.properties");
    let expected = "visits.store=memory\r\njakarta.persistence.jdbc.url=jdbc:h2:mem:visits\r\n\
                    javax.net.ssl.trustStore=none";
    assert_eq!(properties, expected);
    assert!(root.join("src/main/resources/META-INF/services/jakarta.servlet.ServletContainerInitializer").exists());
    let log = read("src/main/java/org/example/visits/VisitLog.java");
    assert!(log.contains("import javax.naming.InitialContext;") && log.contains("import javax.xml.parsers."));
    let before = snapshot(&root);
    assert_eq!(fix(&root), [""; 0]);
    assert_eq!(snapshot(&root), before);
}

/// Imports of all kinds: of Java EE, of Java SE, of neither, and wildcards.
const IMPORTS: &[&str] = &[
    "javax.activation.DataHandler",
    "javax.annotation.*",
    "javax.annotation.PostConstruct",
    "javax.annotation.Priority",
    "javax.annotation.concurrent.Immutable",
    "javax.annotation.processing.Processor",
    "javax.annotation.security.RolesAllowed",
    "javax.annotation.sql.DataSourceDefinition",
    "javax.batch.api.Batchlet",
    "javax.cache.CacheManager",
    "javax.crypto.Cipher",
    "javax.decorator.Decorator",
    "javax.ejb.Stateless",
    "javax.el.*",
    "javax.enterprise.concurrent.ManagedExecutorService",
    "javax.enterprise.context.*",
    "javax.faces.application.FacesMessage",
    "javax.inject.Inject",
    "javax.interceptor.Interceptor",
    "javax.jms.Queue",
    "javax.json.bind.Jsonb",
    "javax.jws.WebMethod",
    "javax.mail.internet.MimeMessage",
    "javax.management.*",
    "javax.management.ObjectName",
    "javax.management.j2ee.Management",
    "javax.naming.*",
    "javax.net.ssl.SSLContext",
    "javax.persistence.Entity",
    "javax.persistence.criteria.*",
    "javax.portlet.Portlet",
    "javax.print.Doc",
    "javax.resource.spi.XATerminator",
    "javax.security.*",
    "javax.security.auth.Subject",
    "javax.security.auth.message.AuthException",
    "javax.security.auth.x500.X500Principal",
    "javax.security.enterprise.SecurityContext",
    "javax.security.jacc.PolicyContext",
    "javax.servlet.*",
    "javax.servlet.http.HttpServlet",
    "javax.servlet.jsp.tagext.Tag",
    "javax.sql.DataSource",
    "javax.swing.*",
    "javax.tools.Tool",
    "javax.transaction.*",
    "javax.transaction.UserTransaction",
    "javax.transaction.xa.*",
    "javax.transaction.xa.Xid",
    "javax.validation.constraints.NotNull",
    "javax.websocket.server.ServerEndpoint",
    "javax.ws.*",
    "javax.ws.rs.*",
    "javax.ws.rs.core.Response",
    "javax.xml.*",
    "javax.xml.bind.*",
    "javax.xml.bind.annotation.XmlElement",
    "javax.xml.crypto.XMLCryptoContext",
    "javax.xml.parsers.*",
    "javax.xml.registry.Query",
    "javax.xml.rpc.Service",
    "javax.xml.soap.SOAPBody",
    "javax.xml.stream.XMLInputFactory",
    "javax.xml.ws.Endpoint",
    "javax.xml.ws.handler.*",
];

#[test]
fn the_imports_are_renamed_as_by_the_tool_of_tomcat() {
    if !has("javax2jakarta", &[]) {
        return;
    }
    let folder = TempDir::new().unwrap();
    let (ours, source, theirs) =
        (folder.path().join("ours"), folder.path().join("source"), folder.path().join("theirs"));
    fs::create_dir(&ours).unwrap();
    fs::create_dir(&source).unwrap();
    let text: String = IMPORTS.iter().map(|name| format!("import {name};\n")).collect();
    fs::write(ours.join("A.java"), &text).unwrap();
    fs::write(source.join("A.java"), &text).unwrap();
    let output = Command::new("javax2jakarta").arg("-profile=EE").args([&source, &theirs]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let left = fix(&ours);
    let (ours, theirs) =
        (fs::read_to_string(ours.join("A.java")).unwrap(), fs::read_to_string(theirs.join("A.java")).unwrap());
    let differences: Vec<_> = ours.lines().zip(theirs.lines()).filter(|(ours, theirs)| ours != theirs).collect();
    assert_eq!(differences, [("", ""); 0]);
    for wildcard in ["annotation", "management", "security", "ws", "xml"] {
        let is_named = left.iter().any(|left| left.contains(&format!("the wildcard import javax.{wildcard}.* stays")));
        assert!(is_named, "{wildcard}: {left:?}");
    }
}

#[test]
fn the_version_of_a_descriptor_becomes_the_version_of_jakarta() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    fs::write(
        root.join("beans.xml"),
        "<beans version=\"2.0\"\n  xmlns=\"http://xmlns.jcp.org/xml/ns/javaee\" xsi=\"x beans_2_0.xsd\"/>",
    )
    .unwrap();
    fs::write(root.join("other.xml"), "<beans version=\"2.0\" xmlns=\"urn:x\"/>").unwrap();
    fs::write(root.join("old.xml"), "<web-app xmlns='http://java.sun.com/xml/ns/j2ee' version=\"2.4\">").unwrap();
    fix(root);
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let beans = "<beans version=\"3.0\"\n  xmlns=\"https://jakarta.ee/xml/ns/jakartaee\" xsi=\"x beans_3_0.xsd\"/>";
    assert_eq!(read("beans.xml"), beans);
    assert_eq!(read("other.xml"), "<beans version=\"2.0\" xmlns=\"urn:x\"/>");
    assert_eq!(read("old.xml"), "<web-app xmlns='https://jakarta.ee/xml/ns/jakartaee' version=\"5.0\">");
}
