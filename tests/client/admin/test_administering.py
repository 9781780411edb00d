"""The scenarios of administrators against our broker; tests/peers runs them against Apache Kafka."""

import os

import pytest
from tests.client.scenarios.administering import *  # noqa: F403

from distributedlog import Admin
from distributedlog.client.admin.async_admin import AsyncAdmin
from distributedlog.client.admin.errors import AdminError, admin_error
from distributedlog.client.errors import BrokerError, ForkedClient, UnknownOption
from distributedlog.wire import ErrorCode


@pytest.fixture
def servers(broker):
    return broker.bootstrap_servers


def test_what_our_broker_does_not_do_is_said(admin):
    with pytest.raises(UnsupportedByBroker, match="the broker does not serve"):  # noqa: F405
        admin.describe_acls()


def test_both_faces_have_the_same_methods():
    public = {name for name in vars(AsyncAdmin) if not name.startswith("_")} - {"forked"}
    assert public == {name for name in vars(Admin) if not name.startswith("_")}
    assert Admin.create_topic.__doc__ == AsyncAdmin.create_topic.__doc__


def test_an_error_keeps_what_the_broker_said_and_adds_what_to_do():
    told = admin_error(BrokerError(ErrorCode.NON_EMPTY_GROUP, "delete group g", "it has 2 members."))
    assert isinstance(told, AdminError)
    assert str(told) == "delete group g: it has 2 members. Stop its consumers first (NON_EMPTY_GROUP)"
    other = BrokerError(ErrorCode.NOT_CONTROLLER, "x")
    assert admin_error(other) is other
    assert admin_error(BrokerError(31_000, "x")).code == 31_000


def test_unknown_options_are_errors(servers):
    with pytest.raises(UnknownOption, match="did you mean 'client_id'"):
        Admin(servers, client_idd="x")


def test_after_a_fork_it_says_so(servers):
    with Admin(servers) as admin:
        admin.list_topics()
        child = os.fork()
        if child == 0:
            try:
                admin.list_topics()
            except ForkedClient:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        admin.list_topics()
