"""The tests themselves: nothing beyond this machine is reached."""

import socket

import pytest
from pytest_socket import SocketConnectBlockedError


def test_only_loopback_can_be_reached():
    with (
        socket.socket() as outside,
        pytest.warns(UserWarning, match="tried to use"),
        pytest.raises(SocketConnectBlockedError),
    ):
        outside.connect(("192.0.2.1", 443))
    with socket.socket() as server, socket.socket() as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.connect(server.getsockname())
