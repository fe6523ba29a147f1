//! Shell completions and manual pages, made from the definition of the command line.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use loomrec_cli::exit::{CommandFailure, UNEXPECTED};

/// Returns the completions for a shell. `line` is the definition of the command line.
pub(super) fn completions(shell: Shell, line: &Command) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut line.clone(), "loomrec", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns loomrec's own manual page.
///
/// # Errors
/// A page that cannot be made, which does not happen.
pub(super) fn manual_page(line: &Command) -> Result<String, CommandFailure> {
    Ok(String::from_utf8_lossy(&render_page(line)?).into_owned())
}

/// Writes a page for loomrec and one for each subcommand.
///
/// # Errors
/// A folder that cannot be written (3).
pub(super) fn write_manual_pages(folder: &Path, line: &Command) -> Result<(), CommandFailure> {
    let failed = |path: &Path, error: std::io::Error| {
        let hint = "check the folder and its permissions";
        CommandFailure::new(
            UNEXPECTED,
            format!("failed to write {}: {error}; {hint}", path.display()),
        )
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    // Subcommands get the global arguments only once the command is built.
    let mut line = line.clone().disable_help_subcommand(true);
    line.build();
    for command in page_commands(&line) {
        let path = folder.join(format!("{}.1", command.get_name()));
        let text = render_page(&command)?;
        let file = loomrec_store::open_output(&path, 0o666).and_then(|file| {
            file.set_len(0)?;
            Ok(file)
        });
        let written = file.and_then(|mut file| file.write_all(&text));
        written.map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// Returns loomrec and each subcommand, under the names of their pages.
fn page_commands(line: &Command) -> Vec<Command> {
    let mut all = vec![line.clone()];
    for sub in line.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let name = format!("{}-{}", line.get_name(), sub.get_name());
        // clap requires names that live as long as the program.
        let named =
            sub.clone().name(name).version(line.get_version().unwrap_or_default().to_owned());
        all.extend(page_commands(&named));
    }
    all
}

fn render_page(command: &Command) -> Result<Vec<u8>, CommandFailure> {
    let mut text = Vec::new();
    Man::new(command.clone()).render(&mut text).map_err(|error| {
        CommandFailure::new(UNEXPECTED, format!("failed to write the manual page: {error}"))
    })?;
    Ok(text)
}
