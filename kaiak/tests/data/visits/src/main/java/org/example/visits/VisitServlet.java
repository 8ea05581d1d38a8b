package org.example.visits;

// A comment about import javax.servlet.Filter;
import java.io.IOException;
import javax.annotation.PostConstruct;
import javax.annotation.Resource;
import javax.servlet.ServletException;
import javax.servlet.annotation.WebServlet;
import javax.servlet.http.*;
import javax.sql.DataSource;

import static javax.servlet.http.HttpServletResponse.SC_OK;

/** Counts the visits of each session. */
@WebServlet("/visits")
public class VisitServlet extends HttpServlet {
    private static final long serialVersionUID = 1L;
    private static final String FAILURE = "javax.servlet.error.exception";

    @Resource(name = "jdbc/visits")
    private transient DataSource source;

    private transient VisitLog log;

    @PostConstruct
    void start() {
        log = new VisitLog(source);
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        HttpSession session = request.getSession();
        Object failure = request.getAttribute(FAILURE);
        if (failure != null) {
            throw new javax.servlet.UnavailableException("failed: " + failure);
        }
        int visits = log.count(session);
        for (javax.servlet.http.Cookie cookie : cookies(request)) {
            log.note(cookie.getName());
        }
        response.setStatus(SC_OK);
        response.setContentType("text/plain; charset=utf-8");
        response.getWriter().printf("visits: %d%n", visits);
    }

    private static Cookie[] cookies(HttpServletRequest request) {
        Cookie[] cookies = request.getCookies();
        return cookies == null ? new Cookie[0] : cookies;
    }
}
