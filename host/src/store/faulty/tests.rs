//! Each way to go wrong, by itself: what the caller hears, and what has happened.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::*;

/// What the future comes to within a few polls; a stopped call never does.
fn ends<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    (0..10).find_map(|_| match future.as_mut().poll(&mut context) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    })
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    ends(future).expect("an answer")
}

fn at(caller: usize, call: u32) -> At {
    At {
        caller,
        operation: 0,
        call,
    }
}

/// A bucket that holds `a`, and a caller's store over it with these steps.
fn store(steps: Vec<Step>) -> (Arc<MemoryStore>, FaultyStore, Arc<Run>) {
    let inner = Arc::new(MemoryStore::new(false));
    block_on(inner.put("a".to_owned(), text("old"), check::plain(Condition::Always)))
        .expect("a put");
    let run = Arc::new(Run::planned(steps, 1, 1_000_000).traced());
    let store = FaultyStore::new(inner.clone(), run.clone(), 0);
    (inner, store, run)
}

fn text(text: &str) -> Body {
    Body::Text(text.to_owned())
}

fn bytes(store: &MemoryStore, key: &str) -> Option<Vec<u8>> {
    let objects = store.objects();
    objects.get(key).map(|object| object.bytes.clone())
}

fn put(store: &FaultyStore, key: &str, body: &str, condition: Condition) -> Result<String, Error> {
    block_on(store.put(key.to_owned(), text(body), check::plain(condition)))
}

#[test]
fn what_is_heard_and_what_has_happened() {
    let (old, new) = (value::version(b"old"), value::version(b"new"));
    for (fault, code, current, happened) in [
        (Fault::FailBefore, ErrorCode::Unavailable, None, false),
        (Fault::FailAfter, ErrorCode::OutcomeUnknown, None, true),
        (Fault::RateLimit, ErrorCode::Unavailable, None, false),
        (
            Fault::ConflictAfter(Told::Nothing),
            ErrorCode::Conflict,
            None,
            true,
        ),
        (
            Fault::ConflictAfter(Told::Before),
            ErrorCode::Conflict,
            Some(old.clone()),
            true,
        ),
        (
            Fault::ConflictAfter(Told::After),
            ErrorCode::Conflict,
            Some(new),
            true,
        ),
    ] {
        let step = Step::Fault(at(0, 1), fault);
        let (inner, store, run) = store(vec![step]);
        let heard = put(&store, "a", "new", Condition::IfMatch(old.clone())).expect_err("a fault");
        assert_eq!((heard.code, heard.current), (code, current), "{fault}");
        let limited = fault == Fault::RateLimit;
        assert_eq!(heard.retry_after_ms, limited.then_some(1_000), "{fault}");
        assert_eq!(bytes(&inner, "a") == Some(b"new".to_vec()), happened);
        assert_eq!(run.taken(), [step]);
        assert_eq!(run.trace().len(), 1, "{:?}", run.trace());
    }
}

#[test]
fn a_refused_write_stays_refused() {
    let (inner, store, _) = store(vec![Step::Fault(
        at(0, 1),
        Fault::ConflictAfter(Told::After),
    )]);
    let heard = put(&store, "a", "new", Condition::IfAbsent).expect_err("there is one");
    assert_eq!(heard.current, Some(value::version(b"old")));
    assert_eq!(bytes(&inner, "a"), Some(b"old".to_vec()));
}

#[test]
fn a_stopped_caller_hears_nothing() {
    for (fault, happened) in [(Fault::StopBefore, false), (Fault::StopAfter, true)] {
        let (inner, store, _) = store(vec![Step::Fault(at(0, 1), fault)]);
        let put = store.put("b".to_owned(), text("new"), check::plain(Condition::Always));
        assert!(ends(put).is_none(), "{fault}");
        assert!(store.take_stopped() && !store.take_stopped());
        assert_eq!(bytes(&inner, "b").is_some(), happened);
    }
}

#[test]
fn waves_and_deletes_are_many_calls() {
    let (inner, store, run) = store(vec![
        Step::Reverse(at(0, 1)),
        Step::Fault(at(0, 1), Fault::FailBefore),
        Step::Fault(at(0, 4), Fault::StopAfter),
    ]);
    let heads = ["a", "b"].map(|key| Request::Head(key.to_owned()));
    let answers = block_on(store.read(heads.into()));
    assert!(matches!(answers[0], Ok(Answer::Head(Some(_)))));
    assert!(answers[1].is_err(), "the last is the first call");
    for key in ["b", "c"] {
        let put = inner.put(key.to_owned(), text("x"), check::plain(Condition::Always));
        block_on(put).expect("a put");
    }
    let keys = ["a", "b", "c"].map(str::to_owned);
    assert!(ends(store.delete(keys.into())).is_none());
    let left: Vec<String> = inner.objects().into_keys().collect();
    assert_eq!(left, ["c"], "{:?}", run.trace());
}

#[test]
fn a_concat_reads_and_then_writes() {
    let (inner, store, _) = store(vec![Step::Fault(at(0, 2), Fault::StopBefore)]);
    let source = Source {
        key: "a".to_owned(),
        if_match: Some(value::version(b"old")),
    };
    let options = check::plain(Condition::IfAbsent);
    let concat = store.concat(vec![source.clone()], "b".to_owned(), options.clone());
    assert!(ends(concat).is_none());
    assert_eq!(bytes(&inner, "b"), None);
    let again = block_on(store.concat(vec![source], "b".to_owned(), options));
    assert_eq!(again, Ok(value::version(b"old")));
    assert_eq!(bytes(&inner, "b"), Some(b"old".to_vec()));
}

#[test]
fn one_write_a_second_to_a_key() {
    let (_, store, run) = store(vec![Step::RateRule]);
    assert!(put(&store, "a", "1", Condition::Always).is_ok());
    assert!(put(&store, "b", "1", Condition::Always).is_ok());
    let heard = put(&store, "a", "2", Condition::Always).expect_err("too soon");
    assert_eq!(heard.code, ErrorCode::Unavailable);
    // A call takes 20 ms: of the second since the write 940 are left, then none.
    run.wait(939);
    assert!(put(&store, "a", "2", Condition::Always).is_err());
    run.wait(1);
    assert!(put(&store, "a", "2", Condition::Always).is_ok());
}

#[test]
fn turns_are_taken_and_given_up() {
    let inner = Arc::new(MemoryStore::new(false));
    let switch = Step::Switch(at(0, 2), 1);
    let run = Arc::new(Run::planned(vec![switch], 2, 0).traced());
    let call = |caller: usize| {
        let store = FaultyStore::new(inner.clone(), run.clone(), caller);
        async move {
            for number in 0..2 {
                let key = format!("{caller}/{number}");
                let put = store.put(key, text("x"), check::plain(Condition::Always));
                put.await.expect("a put");
            }
        }
    };
    let (first, second) = (call(0), call(1));
    block_on(async { tokio::join!(second, first) });
    let keys: Vec<_> = run.trace();
    let order: Vec<_> = keys
        .iter()
        .filter_map(|line| line.split('"').nth(1))
        .collect();
    assert_eq!(order, ["0/0", "1/0", "1/1", "0/1"]);
}

#[test]
fn clocks_go_back_for_one_caller() {
    let back = Step::ClockBack {
        caller: 0,
        operation: 1,
        by_ms: 500,
    };
    let (_, store, _) = store(vec![back]);
    block_on(store.begin(0));
    assert_eq!(store.now_ms(), 1_000_000);
    block_on(store.begin(1));
    assert_eq!(store.now_ms(), 999_500);
}
