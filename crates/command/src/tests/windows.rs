//! How Windows reads names, and what its policy says; as tables, on every system.

use crate::backend::windows_names::{
    file_name, is_batch, is_dangerous, is_plain_path, is_program, program_name,
};

#[test]
fn a_path_is_what_it_spells() {
    for path in [
        "",
        ".",
        "..",
        "a",
        r"a\b",
        "a/b.txt",
        r"..\a",
        r"\a",
        "/a",
        r"C:\",
        r"c:\a b\c.d",
        "C:/a",
        "console",
        "nul_",
        "com",
        "com10",
        "lpt",
        "a.con",
        ".git",
        "*.txt",
        "ü",
    ] {
        assert!(is_plain_path(path), "{path}");
    }
}

#[test]
fn a_path_to_something_else_is_none() {
    for path in [
        // Other machines, devices, what is not taken apart.
        r"\\host\share",
        "//host/share",
        r"\/host",
        r"\\.\pipe\x",
        r"\\?\C:\a",
        r"\\?\UNC\host\share",
        r"C:\\host\share",
        // The current directory of a drive, streams, and drives that are none.
        "C:",
        "C:a",
        "a:b",
        "a.txt:b",
        r"C:\a:b",
        r"C:\a:$DATA",
        "file:///c:/a",
        // Devices, wherever they are and whatever follows.
        "NUL",
        "nul",
        "CON",
        "aux.txt",
        r"a\prn.tar.gz",
        "com1",
        "COM9.txt",
        "com¹",
        "lpt0",
        "conin$",
        "CONOUT$",
        "clock$",
        "nul .txt",
        r"C:\a\NUL",
        // What is dropped at the end.
        "a.",
        "a ",
        "a...",
        r"a.\b",
        "a\u{0}",
        "a\nb",
    ] {
        assert!(!is_plain_path(path), "{path}");
    }
}

#[test]
fn a_program_has_one_name() {
    for (command, name) in [
        ("git", Some("git")),
        ("Git.EXE", Some("git")),
        ("python3.11", Some("python3.11")),
        (r"C:\Program Files\Git\cmd\git.exe", Some("git")),
        ("c:/windows/system32/FINDSTR.exe", Some("findstr")),
        ("git status", Some("git status")),
        ("", None),
        (".exe", None),
        (r"bin\git", None),
        ("./git", None),
        (r"\git", None),
        ("c:git", None),
        ("git:x", None),
        ("git.", None),
        ("git ", None),
        ("nul", None),
        ("con.exe", None),
        (r"\\host\share\git.exe", None),
        (r"C:\a\git.exe:x", None),
    ] {
        assert_eq!(program_name(command).as_deref(), name, "{command}");
    }
}

#[test]
fn only_programs_run_and_no_batch_file() {
    for command in ["x.bat", "X.BAT", "x.cmd", r"C:\x.Cmd", "x.bat ", "x.bat. ."] {
        assert!(is_batch(command), "{command}");
    }
    for command in ["bat", "x.exe", "cmd", "x.batch", "x.cmd.exe"] {
        assert!(!is_batch(command), "{command}");
    }
    // Whatever `PATHEXT` says.
    assert_eq!(file_name("npm"), "npm.exe");
    for (path, runs) in [
        (r"C:\x.exe", true),
        (r"C:\x.EXE", true),
        (r"C:\x.com", false),
        (r"C:\x.bat", false),
        (r"C:\x.exe.ps1", false),
        (r"C:\x", false),
    ] {
        assert_eq!(is_program(path), runs, "{path}");
    }
}

#[test]
fn variables_that_lead_elsewhere_are_dangerous() {
    for name in ["PATHEXT", "COMSPEC", "SYSTEMROOT", "TEMP", "PSMODULEPATH", "COR_PROFILER"] {
        assert!(is_dangerous(name), "{name}");
    }
    assert!(!is_dangerous("LANG"));
}

/// The rules for its programs, with files of those names.
#[test]
fn options_of_its_programs_begin_with_a_slash() {
    let outside = tempfile::tempdir().unwrap();
    let [root, bin] = ["root", "bin"].map(|name| outside.path().join(name));
    std::fs::create_dir(&root).unwrap();
    std::fs::create_dir(&bin).unwrap();
    for name in ["findstr", "sort", "where", "whoami", "find", "xcopy", "cmd"] {
        std::fs::copy("/bin/true", bin.join(name)).unwrap();
    }
    let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/policies/windows.toml");
    let [root, bin] = [&root, &bin].map(|path| path.to_str().unwrap());
    let flags = ["x", "--root", root, "--path", bin, "--policy", policy];
    let config: crate::config::Config = clap::Parser::try_parse_from(flags).unwrap();
    let backend = crate::backend::Backend::open(&config.settings()).unwrap();
    let refused = |name: &str, args: &[&str]| {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        backend.decide(name, &args, None).err().map(|refusal| refusal.to_string())
    };
    for (name, args) in [
        ("findstr", ["/n", "/I", "/C:a b", "a.txt"].as_slice()),
        ("findstr", &["TODO", "src"]),
        ("sort", &["/r", "a.txt"]),
        ("where", &["git"]),
        ("whoami", &[]),
    ] {
        assert_eq!(refused(name, args), None, "{name} {args:?}");
    }
    for (name, args, why) in [
        ("findstr", ["/g:list.txt", "a.txt"].as_slice(), "not among the options"),
        ("findstr", &["/f:list.txt", "a"], "not among the options"),
        ("findstr", &["/nope", "a"], "not among the options"),
        ("findstr", &["-g:list.txt", "a"], "not among the options"),
        ("findstr", &["a", "../secret.txt"], "leads outside"),
        ("sort", &["a.txt", "/o", "b.txt"], "not among the options"),
        ("sort", &["a.txt", "/O:b.txt"], "not among the options"),
        ("where", &["/r", "/", "x"], "not among the options"),
        ("whoami", &["/all"], "not allowed"),
        ("find", &["x", "a.txt"], "not granted"),
        ("xcopy", &["a", "b"], "not granted"),
        ("cmd", &["/c", "ver"], "not granted"),
    ] {
        let refusal = refused(name, args).unwrap_or_default();
        assert!(refusal.contains(why), "{name} {args:?}: {refusal}");
    }
}
