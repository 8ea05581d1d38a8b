package org.example.visits;

import java.util.logging.Logger;
import javax.naming.InitialContext;
import javax.naming.NamingException;
import javax.servlet.http.HttpSession;
import javax.sql.DataSource;
import javax.xml.parsers.DocumentBuilderFactory;

/** Stores the number of visits in the session. */
class VisitLog {
    private static final Logger LOGGER = Logger.getLogger("visits");

    private final DataSource source;

    VisitLog(DataSource source) {
        this.source = source;
    }

    int count(HttpSession session) {
        Object before = session.getAttribute("visits");
        int visits = before instanceof Integer ? (Integer) before + 1 : 1;
        session.setAttribute("visits", visits);
        return visits;
    }

    void note(String cookie) {
        LOGGER.fine("cookie " + cookie + " source " + source);
    }

    static Object lookUp(String name) throws NamingException {
        DocumentBuilderFactory.newInstance();
        return new InitialContext().lookup(name);
    }
}
