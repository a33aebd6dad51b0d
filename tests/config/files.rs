//! Files that are no config.

use crate::{host, left_out::left_out};
use defib::config::{ConfigError, load};
use std::{error::Error as _, fs, os::unix::fs::PermissionsExt as _, path::Path};

fn refused(path: &Path) -> ConfigError {
    load(path, &host()).unwrap_err()
}

fn in_folder(name: &str, content: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    (folder, path)
}

#[test]
fn a_missing_file_says_what_goes_without_one() {
    let error = refused(Path::new("/nowhere/defib.toml"));
    insta::assert_snapshot!(error, @"config `/nowhere/defib.toml` does not exist; `run` without `--config` watches every container that has a healthcheck");
}

#[test]
fn a_directory_is_no_file() {
    insta::assert_snapshot!(refused(Path::new("/etc")), @"config `/etc` is a directory, and no file");
}

#[test]
fn a_device_is_not_read() {
    insta::assert_snapshot!(refused(Path::new("/dev/zero")), @"config `/dev/zero` is a device, and no file");
}

#[test]
fn a_pipe_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    assert!(refused(&path).to_string().ends_with("is a pipe, and no file"));
}

#[test]
fn ten_megabytes_are_too_large_and_four_are_not() {
    let (_folder, path) = in_folder("large.toml", &vec![b'#'; 10 * 1024 * 1024]);
    assert!(refused(&path).to_string().ends_with("is larger than 4 MiB; is this the right file?"));
    let (_folder, path) = in_folder("allowed.toml", &vec![b'\n'; 4 * 1024 * 1024]);
    load(&path, &host()).unwrap();
}

#[test]
fn what_is_not_utf_8_is_named_by_its_line() {
    let (_folder, path) = in_folder("latin1.toml", b"# one\n# two\nname = \"caf\xe9\"\n");
    let text = refused(&path).to_string();
    assert!(text.ends_with("is not UTF-8 text: line 3 has bytes that are no characters"), "{text}");
}

#[test]
fn a_file_that_may_not_be_read_carries_the_cause() {
    let (_folder, path) = in_folder("closed.toml", b"");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        let test = "a_file_that_may_not_be_read_carries_the_cause";
        return left_out(test, "this user may read everything");
    }
    let error = refused(&path);
    assert!(error.to_string().ends_with("can't be read"));
    assert!(error.source().unwrap().to_string().contains("denied"));
}

#[test]
fn a_path_through_a_file_carries_the_cause() {
    let (_folder, path) = in_folder("file", b"");
    let error = refused(&path.join("defib.toml"));
    assert!(matches!(error, ConfigError::Unreadable { .. }), "{error:?}");
    assert!(error.source().is_some());
}

#[test]
fn a_byte_order_mark_does_no_harm() {
    let (_folder, path) = in_folder("bom.toml", b"\xef\xbb\xbf[fleet]\nname = \"x\"\n");
    assert_eq!(load(&path, &host()).unwrap().config.policy.fleet, "x");
}
