from pathlib import Path

import pytest

from codetrail_local.errors import TemplateError
from codetrail_local.routes import Route, Template, read_template, split
from tests.support.local_stack import toy_checkout


@pytest.fixture
def template(tmp_path: Path) -> Template:
    return read_template(toy_checkout(tmp_path) / "template.yaml")


def test_a_function_is_its_folder_with_the_templates_limits(template: Template) -> None:
    echo, work = template.functions["echo"], template.functions["work"]

    assert (echo.module, echo.handler, echo.timeout_seconds, echo.memory_mb) == (
        "functions.echo.app",
        "handler",
        3,
        256,
    )
    assert echo.environment == {
        "POWERTOOLS_SERVICE_NAME": "codetrail",
        "DATABASE_HOST": {"Ref": "DatabaseHost"},
        "JOBS_QUEUE_URL": {"Ref": "JobsQueue"},
    }
    assert work.module == "functions.work.app"


def test_a_queue_knows_its_dead_letters_and_an_event_source_its_batch(template: Template) -> None:
    jobs = template.queues["JobsQueue"]
    source = next(source for source in template.sources if source.queue == "JobsQueue")

    assert (jobs.attributes, jobs.dead_letters, jobs.max_receives) == (
        {"VisibilityTimeout": "2"},
        "DeadQueue",
        2,
    )
    assert (source.function, source.batch_size, source.partial, source.concurrency) == ("work", 5, True, 4)


def routes(*paths: str) -> Template:
    made = tuple(Route(method, path, "f") for method, path in (each.split(" ") for each in paths))
    return Template({}, made, {}, {}, (), (), {}, (), {})


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/a/b", "/a/b"),
        ("/a/b/", "/a/b"),
        ("/a/x", "/a/{one}"),
        ("/a/x%2Fy", "/a/{one}"),
        ("/a/x/y", "/{all+}"),
        ("/", "/"),
        ("/a//b", "/{all+}"),
    ],
)
def test_the_most_specific_path_wins(path: str, found: str) -> None:
    template = routes("ANY /", "GET /a/b", "GET /a/{one}", "ANY /{all+}")

    match = template.match("GET", split(path))

    assert match is not None
    assert match.path == found


def test_the_path_is_chosen_before_the_method() -> None:
    match = routes("GET /a/b", "ANY /{all+}").match("POST", split("/a/b"))

    assert match is not None
    assert (match.path, match.route, match.methods) == ("/a/b", None, ("GET",))


def test_a_methods_own_route_comes_before_any() -> None:
    match = routes("ANY /a", "GET /a").match("GET", split("/a"))

    assert match is not None
    assert match.route is not None
    assert match.route.method == "GET"


def test_a_setting_stands_in_for_the_parameter_of_its_name(tmp_path: Path) -> None:
    path = tmp_path / "template.yaml"
    path.write_text("Parameters: {AllowedHosts: {Default: github.com}, NoDefault: {}}\nResources: {}\n")

    assert read_template(path).parameters == {"AllowedHosts": "github.com"}
    assert read_template(path, {"ALLOWED_HOSTS": "a.example"}).parameters == {"AllowedHosts": "a.example"}


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "checkout"), ("a: [", "not YAML"), ("[]", "no Resources"), ("a: 1", "no Resources")],
)
def test_a_template_that_cannot_be_read_is_said_plainly(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / "template.yaml"
    if text is not None:
        path.write_text(text)

    with pytest.raises(TemplateError, match=words):
        read_template(path)


def test_the_products_own_template_can_be_read() -> None:
    root = Path(__file__).parents[3]
    template = read_template(root / "template.yaml")

    assert {source.queue for source in template.sources} <= set(template.queues)
    for function in template.functions.values():
        assert (root / Path(*function.module.split("."))).parent.name == function.name
