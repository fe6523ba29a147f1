//! Fuzz target for pointer files: any bytes. What can be read is written and read again without a
//! change, and names a bucket.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_fuzz::scratch;
use loomrec_remote::{PointerFile, RemoteAddress, RemoteName};
use loomrec_store::BucketUrl;

const NAME: &str = "agent.remote.json";

fuzz_target!(|data: &[u8]| -> Corpus {
    let path = scratch::lay_out(&[(NAME, data)]).join(NAME);
    let read = PointerFile::read(&path);
    assert_eq!(std::fs::read(&path).expect("the file is there"), data, "who reads writes nothing");
    let Ok(pointer) = read else {
        // Other names are read from text.
        if let Ok(name) = RemoteName::parse(&String::from_utf8_lossy(data)) {
            let url = name.address.to_string();
            assert_eq!(RemoteAddress::parse(&url).as_ref(), Ok(&name.address));
        }
        return Corpus::Keep;
    };
    let url = pointer.address.to_string();
    assert_eq!(BucketUrl::of_url(&url).as_ref(), Some(pointer.address.bucket_url()));
    pointer.write(&path).expect("the folder can be written");
    assert_eq!(PointerFile::read(&path).expect("what was written can be read"), pointer);
    Corpus::Keep
});
