//! The image of the demo's containers: this very program and the libraries it needs, and nothing else. So nothing is
//! pulled, nothing has to be installed, and no shell is in it.
//!
//! Which libraries those are says the kernel: they are mapped into this process. They are put flat into `/lib`, and the
//! program is started by the dynamic loader, which is told to look there: no path of this host's matters inside.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

/// A root file system, and how the program in it is started.
pub struct Image {
    /// As a tar archive.
    pub tar: Vec<u8>,
    /// What stands in front of the program's own arguments.
    pub start: Vec<String>,
}

/// Packs the running program.
///
/// # Errors
/// Where the program or a library of it can't be read.
pub fn of_this_program() -> io::Result<Image> {
    let libraries = libraries(&fs::read_to_string("/proc/self/maps")?);
    let mut tar = tar::Builder::new(Vec::new());
    // The entry by which a file is read stays the running program, also where a new build has taken its name.
    add(&mut tar, "defib", Path::new("/proc/self/exe"))?;
    for (name, path) in &libraries {
        add(&mut tar, &format!("lib/{name}"), path)?;
        for alias in aliases(path)? {
            link(&mut tar, &format!("lib/{alias}"), name)?;
        }
    }
    let loader = libraries.keys().find(|name| name.starts_with("ld-"));
    let start = match loader {
        Some(loader) => {
            let loader = format!("/lib/{loader}");
            vec![loader, "--library-path".to_owned(), "/lib".to_owned(), "/defib".to_owned()]
        }
        // Linked statically: it needs none.
        None => vec!["/defib".to_owned()],
    };
    Ok(Image { tar: tar.into_inner()?, start })
}

/// The libraries among what is mapped, by file name.
fn libraries(maps: &str) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for line in maps.lines() {
        // Five columns, then the path, which may hold spaces.
        let Some(at) = line.find('/') else { continue };
        let path = Path::new(&line[at..]);
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let is_library = name.ends_with(".so") || name.contains(".so.");
        if is_library && !name.ends_with("(deleted)") {
            found.insert(name.to_owned(), path.to_owned());
        }
    }
    found
}

/// Other names of the same library beside it: programs ask for `libc.so.6` where older systems keep `libc-2.31.so`.
fn aliases(library: &Path) -> io::Result<BTreeSet<String>> {
    let (Some(folder), Some(file)) = (library.parent(), library.file_name()) else {
        return Ok(BTreeSet::new());
    };
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let points_here = entry.file_type()?.is_symlink()
            && fs::read_link(entry.path()).is_ok_and(|target| target == Path::new(file));
        if points_here && let Ok(name) = entry.file_name().into_string() {
            names.insert(name);
        }
    }
    Ok(names)
}

fn add(tar: &mut tar::Builder<Vec<u8>>, name: &str, path: &Path) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    let content = fs::read(path).map_err(|error| {
        io::Error::new(error.kind(), format!("can't read {}: {error}", path.display()))
    })?;
    header.set_size(u64::try_from(content.len()).map_err(io::Error::other)?);
    header.set_mode(0o755);
    tar.append_data(&mut header, name, content.as_slice())
}

fn link(tar: &mut tar::Builder<Vec<u8>>, name: &str, target: &str) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    header.set_mode(0o777);
    tar.append_link(&mut header, name, target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_what_is_mapped_under_such_a_name() {
        let maps = "\
5571-5572 r-xp 00000000 00:1f 12 /usr/bin/defib
7f01-7f02 r--p 00000000 00:1f 34                         /usr/lib/x86_64-linux-gnu/libc.so.6
7f02-7f03 r-xp 00026000 00:1f 34                         /usr/lib/x86_64-linux-gnu/libc.so.6
7f03-7f04 r-xp 00000000 00:1f 35                         /usr/lib/ld-linux-x86-64.so.2
7f04-7f05 r-xp 00000000 00:1f 36                         /opt/gone.so (deleted)
7f05-7f06 rw-p 00000000 00:00 0
7ffd-7ffe rw-p 00000000 00:00 0                          [stack]
";
        let names: Vec<String> = libraries(maps).into_keys().collect();
        assert_eq!(names, ["ld-linux-x86-64.so.2", "libc.so.6"]);
    }

    #[test]
    fn the_program_is_in_its_own_image_with_what_it_needs_to_start() {
        let image = of_this_program().unwrap();
        let mut archive = tar::Archive::new(image.tar.as_slice());
        let names: BTreeSet<String> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        assert!(names.contains("defib"));
        assert_eq!(image.start.last().unwrap(), "/defib");
        for part in image.start.iter().filter(|part| part.starts_with("/lib/")) {
            assert!(names.contains(part.trim_start_matches('/')), "{part} is in {names:?}");
        }
    }

    #[test]
    fn a_library_is_found_under_its_other_names_too() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libx-2.31.so");
        fs::write(&library, "").unwrap();
        std::os::unix::fs::symlink("libx-2.31.so", folder.path().join("libx.so.6")).unwrap();
        std::os::unix::fs::symlink("other", folder.path().join("liby.so")).unwrap();
        let names: Vec<String> = aliases(&library).unwrap().into_iter().collect();
        assert_eq!(names, ["libx.so.6"]);
    }
}
